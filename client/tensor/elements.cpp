#include "client/tensor/elements.h"

#include <algorithm>
#include <cstring>

#include "hearth/small_float.h"

namespace hearth::client {
namespace {

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
  if (dtype == DType::kF16) return bytes_of_value(Float16(value));
  if (dtype == DType::kBF16) return bytes_of_value(BFloat16(value));
  if (dtype == DType::kF8E5M2) return bytes_of_value(Float8E5M2(value));
  return bytes_of_value(Float8E4M3(value));
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
      return static_cast<double>(value_of<Float16>(bytes));
    case DType::kBF16:
      return static_cast<double>(value_of<BFloat16>(bytes));
    case DType::kF8E4M3:
      return static_cast<double>(value_of<Float8E4M3>(bytes));
    case DType::kF8E5M2:
      return static_cast<double>(value_of<Float8E5M2>(bytes));
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
