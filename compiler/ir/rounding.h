// Rounding of a double to what a float dtype can hold (round to nearest even, overflow to infinity), as a double.
#pragma once
#include <cmath>

#include "compiler/ir/dtype.h"

namespace hearth::ir {

inline double round_to_bf16(float value) {
  if (std::isnan(value) || std::isinf(value)) return value;
  std::uint32_t bits = __builtin_bit_cast(std::uint32_t, value);
  bits += 0x7fff + ((bits >> 16) & 1);
  bits &= 0xffff0000u;
  return __builtin_bit_cast(float, bits);
}

inline double round_to(DType dtype, double value) {
  switch (dtype.scalar) {
    case Scalar::F32:
      return static_cast<float>(value);
    case Scalar::F16:
      return static_cast<double>(static_cast<_Float16>(value));
    case Scalar::BF16:
      return round_to_bf16(static_cast<float>(value));
    default:
      return value;
  }
}

}  // namespace hearth::ir
