#include "hearth/view.h"

#include "base/text.h"

namespace hearth::runtime {
namespace {

std::string label_of(const std::string& name) { return name.empty() ? "the buffer" : str_cat("buffer '", name, "'"); }

absl::Status wrong_dtype(const std::string& name, DType dtype, std::string_view wanted) {
  return absl::InvalidArgumentError(str_cat(label_of(name), " has elements of ", dtype_name(dtype), ", not ", wanted));
}

// Calls `use` with a null pointer to the dtype's C++ type; false when it is no float.
template <typename F>
bool with_float_type(DType dtype, F use) {
  switch (dtype) {
    case DType::kF16:
      return use(static_cast<Float16*>(nullptr)), true;
    case DType::kBF16:
      return use(static_cast<BFloat16*>(nullptr)), true;
    case DType::kF8E4M3:
      return use(static_cast<Float8E4M3*>(nullptr)), true;
    case DType::kF8E5M2:
      return use(static_cast<Float8E5M2*>(nullptr)), true;
    case DType::kF32:
      return use(static_cast<float*>(nullptr)), true;
    case DType::kF64:
      return use(static_cast<double*>(nullptr)), true;
    default:
      return false;
  }
}

}  // namespace

absl::Status ConstView::check_dtype(DType wanted) const {
  return dtype == wanted ? absl::OkStatus() : wrong_dtype(name, dtype, dtype_name(wanted));
}

absl::StatusOr<std::vector<float>> ConstView::to_floats() const {
  std::vector<float> floats(size_bytes / dtype_bytes(dtype));
  const bool is_float = with_float_type(dtype, [&](auto* type) {
    const auto* elements = static_cast<decltype(type)>(const_cast<void*>(data));
    for (std::size_t i = 0; i < floats.size(); ++i) floats[i] = static_cast<float>(elements[i]);
  });
  if (!is_float) return wrong_dtype(name, dtype, "of a float type");
  return floats;
}

absl::Status MutableView::check_dtype(DType wanted) const {
  return dtype == wanted ? absl::OkStatus() : wrong_dtype(name, dtype, dtype_name(wanted));
}

absl::Status MutableView::check_room(std::size_t elements) const {
  const std::size_t room = size_bytes / dtype_bytes(dtype);
  if (elements <= room) return absl::OkStatus();
  return absl::InvalidArgumentError(str_cat(label_of(name), " has room for ", room, " elements of ", dtype_name(dtype),
                                            "; ", elements, " were given"));
}

absl::Status MutableView::round_from(std::span<const float> from) const {
  absl::Status fit = check_room(from.size());
  if (!fit.ok()) return fit;
  const bool is_float = with_float_type(dtype, [&](auto* type) {
    auto* elements = static_cast<decltype(type)>(data);
    for (std::size_t i = 0; i < from.size(); ++i) elements[i] = static_cast<std::decay_t<decltype(*type)>>(from[i]);
  });
  return is_float ? absl::OkStatus() : wrong_dtype(name, dtype, "of a float type");
}

}  // namespace hearth::runtime
