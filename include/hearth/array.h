// Array: dense row-major elements in this process's memory, what traced functions take and give; ArrayView: the same,
// borrowed. Value types; a view's memory is kept alive and unchanged by the caller as long as the view is used.
//
//   const std::vector<float> samples(512);
//   ArrayView x = view_of(samples, {1, 512});
//   absl::StatusOr<std::span<const float>> y = result.elements<float>();
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hearth/dtype.h"
#include "hearth/element_type.h"
#include "hearth/view.h"

#pragma GCC visibility push(default)
namespace hearth::client {

// InvalidArgument when the elements are of another dtype.
absl::Status expect_dtype(DType dtype, DType expected);

struct Array {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  std::string bytes;  // of all elements, little endian

  // A view that lives as long as the array.
  template <typename T>
  absl::StatusOr<std::span<const T>> elements() const {
    if (absl::Status status = expect_dtype(dtype, dtype_of<T>()); !status.ok()) return status;
    return std::span(reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T));
  }
};

struct ArrayView {
  const void* data = nullptr;
  std::size_t size_bytes = 0;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;

  ArrayView() = default;
  ArrayView(const void* elements, std::size_t size, DType type, std::vector<std::int64_t> lengths)
      : data(elements), size_bytes(size), dtype(type), shape(std::move(lengths)) {}
  ArrayView(const Array& array)  // NOLINT: an array is passed where a view is taken
      : ArrayView(array.bytes.data(), array.bytes.size(), array.dtype, array.shape) {}
};

template <typename T>
ArrayView view_of(const std::vector<T>& elements, std::vector<std::int64_t> shape) {
  return {elements.data(), elements.size() * sizeof(T), dtype_of<T>(), std::move(shape)};
}
template <typename T>
Array array_of(const std::vector<T>& elements, std::vector<std::int64_t> shape) {
  return {dtype_of<T>(), std::move(shape),
          std::string(reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T))};
}

// A copy of what a view shows, for when the view is no longer valid.
Array copy_of(const runtime::ConstView& view);

// InvalidArgument naming `what` when the size is not that of shape and dtype, a length is negative, or the elements
// are null.
absl::Status check_array(const ArrayView& array, std::string_view what);

}  // namespace hearth::client
#pragma GCC visibility pop
