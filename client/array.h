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
#include <type_traits>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/dtype.h"

namespace hearth::client {

// The dtype of a C++ element type.
template <typename T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>) {
    return DType::kBool;
  } else if constexpr (std::is_same_v<T, float>) {
    return DType::kF32;
  } else if constexpr (std::is_same_v<T, double>) {
    return DType::kF64;
  } else {
    static_assert(std::is_integral_v<T>, "no dtype for this element type");
    if constexpr (sizeof(T) == 1) return std::is_signed_v<T> ? DType::kI8 : DType::kU8;
    if constexpr (sizeof(T) == 2) return std::is_signed_v<T> ? DType::kI16 : DType::kU16;
    if constexpr (sizeof(T) == 4) return std::is_signed_v<T> ? DType::kI32 : DType::kU32;
    return std::is_signed_v<T> ? DType::kI64 : DType::kU64;
  }
}

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

// InvalidArgument naming `what` when the size is not that of shape and dtype, a length is negative, or the elements
// are null.
absl::Status check_array(const ArrayView& array, std::string_view what);

}  // namespace hearth::client
