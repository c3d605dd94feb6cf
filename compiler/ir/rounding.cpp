#include "compiler/ir/rounding.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hearth::ir {
namespace {

constexpr NarrowFormat kF16{5, 10, true}, kBF16{8, 7, true}, kF8E4M3{4, 3, false}, kF8E5M2{5, 2, true};
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

const NarrowFormat* narrow_format(DType dtype) {
  switch (dtype.scalar) {
    case Scalar::F16:
      return &kF16;
    case Scalar::BF16:
      return &kBF16;
    case Scalar::F8E4M3:
      return &kF8E4M3;
    case Scalar::F8E5M2:
      return &kF8E5M2;
    default:
      return nullptr;
  }
}

double greatest_finite(DType dtype) {
  const NarrowFormat* format = narrow_format(dtype);
  if (!format) {
    return dtype.scalar == Scalar::F32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
  }
  // With infinity, the top exponent is not a number's; without, it is, but its last mantissa is NaN.
  const int exponent = -format->least_exponent() + (format->has_infinity ? 1 : 2);
  const double last_place = std::ldexp(1.0, -format->mantissa_bits);
  return std::ldexp(2.0 - (format->has_infinity ? 1 : 2) * last_place, exponent);
}

double round_to(DType dtype, double value) {
  if (dtype.scalar == Scalar::F32) return static_cast<float>(value);
  const NarrowFormat* format = narrow_format(dtype);
  if (!format || value == 0 || std::isnan(value)) return value;
  double rounded = value;
  if (!std::isinf(value)) {
    const int exponent = std::max(std::ilogb(value), format->least_exponent());
    const int last_place = exponent - format->mantissa_bits;
    rounded = std::ldexp(std::nearbyint(std::ldexp(value, -last_place)), last_place);  // ldexp is exact here
  }
  if (std::fabs(rounded) <= greatest_finite(dtype)) return rounded;
  return format->has_infinity ? std::copysign(kInfinity, value) : kNaN;
}

double value_of_bits(DType dtype, std::uint32_t bits) {
  const NarrowFormat& format = *narrow_format(dtype);
  const std::uint32_t mantissa_mask = (1u << format.mantissa_bits) - 1, top = (1u << format.exponent_bits) - 1;
  const std::uint32_t exponent = bits >> format.mantissa_bits & top, mantissa = bits & mantissa_mask;
  const double sign = bits >> (format.exponent_bits + format.mantissa_bits) & 1 ? -1.0 : 1.0;
  if (exponent == top && (format.has_infinity || mantissa == mantissa_mask)) {
    return mantissa != 0 ? kNaN : sign * kInfinity;
  }
  const std::uint32_t hidden = exponent == 0 ? 0 : mantissa_mask + 1;
  const int scale = format.least_exponent() + (exponent == 0 ? 0 : static_cast<int>(exponent) - 1);
  return sign * std::ldexp(static_cast<double>(hidden + mantissa), scale - format.mantissa_bits);
}

}  // namespace hearth::ir
