#include "hearth/array.h"

#include "absl/strings/str_join.h"
#include "base/text.h"

namespace hearth::client {

absl::Status expect_dtype(DType dtype, DType expected) {
  if (dtype == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      str_cat("the array has elements of ", dtype_name(dtype), ", not ", dtype_name(expected)));
}

Array copy_of(const runtime::ConstView& view) {
  return {view.dtype, view.shape, std::string(static_cast<const char*>(view.data), view.size_bytes)};
}

absl::Status check_array(const ArrayView& array, std::string_view what) {
  std::size_t size = dtype_bytes(array.dtype);
  for (std::int64_t length : array.shape) {
    if (length < 0 || __builtin_mul_overflow(size, static_cast<std::size_t>(length), &size)) {
      return absl::InvalidArgumentError(str_cat(what, ": [", absl::StrJoin(array.shape, ", "), "] is no shape"));
    }
  }
  if (size != array.size_bytes) {
    return absl::InvalidArgumentError(str_cat(what, " has ", array.size_bytes, " bytes; ", dtype_name(array.dtype),
                                              " [", absl::StrJoin(array.shape, ", "), "] needs ", size));
  }
  if (size > 0 && array.data == nullptr) return absl::InvalidArgumentError(str_cat(what, " is a null pointer"));
  return absl::OkStatus();
}

}  // namespace hearth::client
