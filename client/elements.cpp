#include "client/elements.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace hearth::client {
namespace {

struct SmallFloat {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity;
};

SmallFloat small_float(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return {5, 10, true};
    case DType::kBF16:
      return {8, 7, true};
    case DType::kF8E5M2:
      return {5, 2, true};
    default:
      return {4, 3, false};  // f8e4m3, the "fn" form: all ones is NaN, no infinity
  }
}

std::uint32_t encode_small(double value, DType dtype) {
  const SmallFloat format = small_float(dtype);
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const std::uint32_t top_exponent = (1U << format.exponent_bits) - 1;
  const std::uint32_t sign = std::signbit(value) ? 1U << (format.exponent_bits + format.mantissa_bits) : 0;
  const std::uint32_t nan = format.has_infinity
                                ? (top_exponent << format.mantissa_bits) | (1U << (format.mantissa_bits - 1))
                                : (1U << (format.exponent_bits + format.mantissa_bits)) - 1;
  const std::uint32_t overflow = format.has_infinity ? top_exponent << format.mantissa_bits : nan;
  if (std::isnan(value)) return sign | nan;
  if (std::isinf(value)) return sign | overflow;
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  int exponent = std::max(std::ilogb(magnitude), 1 - bias);
  // Scaling by a power of two is exact; nearbyint rounds half to even.
  double units = std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent));
  if (units >= std::ldexp(1.0, format.mantissa_bits + 1)) {
    ++exponent;
    units /= 2;
  }
  const auto mantissa = static_cast<std::uint32_t>(units);
  const bool normal = mantissa >= (1U << format.mantissa_bits);
  const std::int64_t biased = normal ? exponent + bias : 0;
  const std::int64_t bits = (biased << format.mantissa_bits) | (mantissa & ((1U << format.mantissa_bits) - 1));
  if (bits >= static_cast<std::int64_t>(overflow)) return sign | overflow;
  return sign | static_cast<std::uint32_t>(bits);
}

double decode_small(std::uint32_t bits, DType dtype) {
  const SmallFloat format = small_float(dtype);
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const std::uint32_t top_exponent = (1U << format.exponent_bits) - 1;
  const std::uint32_t mantissa_mask = (1U << format.mantissa_bits) - 1;
  const std::uint32_t exponent = (bits >> format.mantissa_bits) & top_exponent;
  const std::uint32_t mantissa = bits & mantissa_mask;
  const bool negative = (bits >> (format.exponent_bits + format.mantissa_bits)) & 1;
  double magnitude;
  if (format.has_infinity && exponent == top_exponent) {
    magnitude = mantissa ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  } else if (!format.has_infinity && exponent == top_exponent && mantissa == mantissa_mask) {
    magnitude = std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(mantissa, 1 - bias - format.mantissa_bits);
  } else {
    magnitude =
        std::ldexp(mantissa + (1U << format.mantissa_bits), static_cast<int>(exponent) - bias - format.mantissa_bits);
  }
  return negative ? -magnitude : magnitude;
}

template <typename T>
std::string bytes_of_value(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

template <typename T>
T value_of(std::string_view bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), std::min(sizeof value, bytes.size()));
  return value;
}

}  // namespace

std::string encode_float(double value, DType dtype) {
  if (dtype == DType::kF64) return bytes_of_value(value);
  if (dtype == DType::kF32) return bytes_of_value(static_cast<float>(value));
  return bytes_of_value(encode_small(value, dtype)).substr(0, dtype_bytes(dtype));
}

std::string encode_integer(std::int64_t value, DType dtype) {
  if (dtype == DType::kBool) value = value != 0;
  return bytes_of_value(value).substr(0, dtype_bytes(dtype));
}

bool fits(std::int64_t value, DType dtype) {
  if (dtype == DType::kBool) return value == 0 || value == 1;
  const int bits = static_cast<int>(dtype_bytes(dtype)) * 8;
  if (!is_signed(dtype)) return value >= 0 && (bits == 64 || value < (std::int64_t{1} << bits));
  return bits == 64 || (value >= -(std::int64_t{1} << (bits - 1)) && value < (std::int64_t{1} << (bits - 1)));
}

double decode_float(std::string_view bytes, DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return value_of<double>(bytes);
    case DType::kF32:
      return value_of<float>(bytes);
    case DType::kF16:
    case DType::kBF16:
      return decode_small(value_of<std::uint16_t>(bytes), dtype);
    case DType::kF8E4M3:
    case DType::kF8E5M2:
      return decode_small(value_of<std::uint8_t>(bytes), dtype);
    case DType::kU64:
      return static_cast<double>(value_of<std::uint64_t>(bytes));
    default:
      return static_cast<double>(decode_integer(bytes, dtype));
  }
}

std::int64_t decode_integer(std::string_view bytes, DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return value_of<std::uint8_t>(bytes) != 0;
    case DType::kI8:
      return value_of<std::int8_t>(bytes);
    case DType::kI16:
      return value_of<std::int16_t>(bytes);
    case DType::kI32:
      return value_of<std::int32_t>(bytes);
    case DType::kU8:
      return value_of<std::uint8_t>(bytes);
    case DType::kU16:
      return value_of<std::uint16_t>(bytes);
    case DType::kU32:
      return value_of<std::uint32_t>(bytes);
    case DType::kI64:
    case DType::kU64:
      return value_of<std::int64_t>(bytes);
    default:
      return static_cast<std::int64_t>(decode_float(bytes, dtype));
  }
}

}  // namespace hearth::client
