// The C++ type of a dtype's elements, and back: bool, the integers by size and sign, float, double, and the small
// floats of hearth/small_float.h.
//
//   static_assert(dtype_of<float>() == DType::kF32);
#pragma once
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "hearth/dtype.h"
#include "hearth/small_float.h"

#pragma GCC visibility push(default)
namespace hearth {

template <typename T>
concept SmallFloatElement =
    std::same_as<T, Float16> || std::same_as<T, BFloat16> || std::same_as<T, Float8E4M3> || std::same_as<T, Float8E5M2>;
template <typename T>
concept Element = std::integral<T> || std::same_as<T, float> || std::same_as<T, double> || SmallFloatElement<T>;

template <Element T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>) {
    return DType::kBool;
  } else if constexpr (std::is_same_v<T, float>) {
    return DType::kF32;
  } else if constexpr (std::is_same_v<T, double>) {
    return DType::kF64;
  } else if constexpr (std::is_same_v<T, Float16>) {
    return DType::kF16;
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return DType::kBF16;
  } else if constexpr (std::is_same_v<T, Float8E4M3>) {
    return DType::kF8E4M3;
  } else if constexpr (std::is_same_v<T, Float8E5M2>) {
    return DType::kF8E5M2;
  } else {
    if constexpr (sizeof(T) == 1) return std::is_signed_v<T> ? DType::kI8 : DType::kU8;
    if constexpr (sizeof(T) == 2) return std::is_signed_v<T> ? DType::kI16 : DType::kU16;
    if constexpr (sizeof(T) == 4) return std::is_signed_v<T> ? DType::kI32 : DType::kU32;
    return std::is_signed_v<T> ? DType::kI64 : DType::kU64;
  }
}

}  // namespace hearth
#pragma GCC visibility pop
