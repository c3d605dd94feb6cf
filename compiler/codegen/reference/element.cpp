#include "compiler/codegen/reference/element.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"

namespace hearth::codegen::reference {
namespace {

using ir::Scalar;

// A binary float format narrower than f32.
struct Format {
  int exponent_bits;
  int mantissa_bits;  // without the hidden bit
  int bias;
  double max_finite;
  bool has_infinity;
};

constexpr Format kF16{5, 10, 15, 65504.0, true};
constexpr Format kBF16{8, 7, 127, 0x1.FEp127, true};
constexpr Format kF8E4M3{4, 3, 7, 448.0, false};
constexpr Format kF8E5M2{5, 2, 15, 57344.0, true};

const Format* narrow_format(Scalar scalar) {
  switch (scalar) {
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

// Written apart from ir/rounding on purpose: the interpreter judges what is folded with that.
double round_narrow(const Format& format, double value) {
  if (std::isnan(value) || value == 0) return value;
  const double overflow = format.has_infinity ? std::copysign(INFINITY, value) : std::copysign(NAN, value);
  if (std::isinf(value)) return overflow;
  int exponent = 0;
  std::frexp(value, &exponent);  // value = m * 2^exponent, 0.5 <= |m| < 1
  const int lowest = 1 - format.bias;
  const int unit = std::max(exponent - 1, lowest) - format.mantissa_bits;  // weight of the last kept bit
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
  return std::fabs(rounded) > format.max_finite ? overflow : rounded;
}

std::uint64_t encode_narrow(const Format& format, double value) {
  const std::uint64_t sign =
      std::signbit(value) ? std::uint64_t{1} << (format.exponent_bits + format.mantissa_bits) : 0;
  const std::uint64_t all_ones = ((std::uint64_t{1} << format.exponent_bits) - 1) << format.mantissa_bits;
  if (std::isnan(value)) {
    const std::uint64_t mantissa = format.has_infinity ? std::uint64_t{1} << (format.mantissa_bits - 1)
                                                       : (std::uint64_t{1} << format.mantissa_bits) - 1;
    return sign | all_ones | mantissa;
  }
  if (std::isinf(value)) return sign | all_ones;
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  exponent -= 1;
  const int lowest = 1 - format.bias;
  if (exponent < lowest) {  // subnormal
    return sign | static_cast<std::uint64_t>(std::ldexp(magnitude, format.mantissa_bits - lowest));
  }
  const auto mantissa =
      static_cast<std::uint64_t>(std::ldexp(std::ldexp(magnitude, -exponent) - 1, format.mantissa_bits));
  return sign | static_cast<std::uint64_t>(exponent + format.bias) << format.mantissa_bits | mantissa;
}

double decode_narrow(const Format& format, std::uint64_t bits) {
  const std::uint64_t mantissa = bits & ((std::uint64_t{1} << format.mantissa_bits) - 1);
  const auto exponent =
      static_cast<int>((bits >> format.mantissa_bits) & ((std::uint64_t{1} << format.exponent_bits) - 1));
  const double sign = (bits >> (format.exponent_bits + format.mantissa_bits)) & 1 ? -1.0 : 1.0;
  const int all_ones = (1 << format.exponent_bits) - 1;
  if (exponent == all_ones) {
    if (format.has_infinity) return mantissa == 0 ? sign * INFINITY : std::copysign(NAN, sign);
    if (mantissa == (std::uint64_t{1} << format.mantissa_bits) - 1) return std::copysign(NAN, sign);
  }
  const double fraction = std::ldexp(static_cast<double>(mantissa), -format.mantissa_bits);
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - format.bias);
  return sign * std::ldexp(1 + fraction, exponent - format.bias);
}

}  // namespace

double round_float(Scalar scalar, double value) {
  if (scalar == Scalar::F64) return value;
  if (scalar == Scalar::F32) return static_cast<double>(static_cast<float>(value));
  return round_narrow(*narrow_format(scalar), value);
}

std::int64_t wrap_int(Scalar scalar, std::int64_t value) {
  switch (scalar) {
    case Scalar::Bool:
      return value & 1;
    case Scalar::I8:
      return static_cast<std::int8_t>(value);
    case Scalar::I16:
      return static_cast<std::int16_t>(value);
    case Scalar::I32:
      return static_cast<std::int32_t>(value);
    case Scalar::U8:
      return static_cast<std::uint8_t>(value);
    case Scalar::U16:
      return static_cast<std::uint16_t>(value);
    case Scalar::U32:
      return static_cast<std::uint32_t>(value);
    default:
      return value;
  }
}

Element normalize(Scalar scalar, Element value) {
  if (ir::is_float(scalar)) return Element::of_float(round_float(scalar, value.f));
  return Element::of_int(wrap_int(scalar, value.i));
}

std::uint64_t encode(Scalar scalar, Element value) {
  if (scalar == Scalar::F64) return std::bit_cast<std::uint64_t>(value.f);
  if (scalar == Scalar::F32) return std::bit_cast<std::uint32_t>(static_cast<float>(value.f));
  if (const Format* format = narrow_format(scalar)) return encode_narrow(*format, value.f);
  const int width = ir::byte_size(scalar) * 8;
  const auto bits = static_cast<std::uint64_t>(value.i);
  return width == 64 ? bits : bits & ((std::uint64_t{1} << width) - 1);
}

Element decode(Scalar scalar, std::uint64_t bits) {
  if (scalar == Scalar::F64) return Element::of_float(std::bit_cast<double>(bits));
  if (scalar == Scalar::F32) return Element::of_float(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  if (const Format* format = narrow_format(scalar)) return Element::of_float(decode_narrow(*format, bits));
  if (scalar == Scalar::Bool) return Element::of_int((bits & 0xff) != 0);
  return Element::of_int(wrap_int(scalar, static_cast<std::int64_t>(bits)));
}

Element read_element(Scalar scalar, const std::uint8_t* bytes) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes, static_cast<std::size_t>(ir::byte_size(scalar)));
  return decode(scalar, bits);
}

void write_element(Scalar scalar, Element value, std::uint8_t* bytes) {
  const std::uint64_t bits = encode(scalar, value);
  std::memcpy(bytes, &bits, static_cast<std::size_t>(ir::byte_size(scalar)));
}

std::string to_string(Scalar scalar, Element value) {
  if (ir::is_float(scalar)) return absl::StrCat(value.f);
  if (scalar == Scalar::Bool) return value.i != 0 ? "true" : "false";
  if (scalar == Scalar::U64) return absl::StrCat(static_cast<std::uint64_t>(value.i));
  return absl::StrCat(value.i);
}

}  // namespace hearth::codegen::reference
