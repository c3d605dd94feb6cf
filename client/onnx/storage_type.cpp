#include "client/onnx/storage_type.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "base/text.h"
#include "client/onnx/reject.h"
#include "hearth/ops/creation.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/linear.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/reduce.h"

namespace hearth::onnx {
namespace {

using client::Tensor;
using Kind = StorageType::Kind;

// As the formats' own texts have them: ONNX's TensorProto.DataType, OCP's MX 1.0 and, of fnuz, arXiv 2206.02915.
constexpr std::array<StorageType, 10> kTypes = {{
    {18, "float8e4m3fnuz", "float8_e4m3fnuz", 8, Kind::kFloat, 3, 8, false, 240},
    {20, "float8e5m2fnuz", "float8_e5m2fnuz", 8, Kind::kFloat, 2, 16, false, 57344},
    {21, "uint4", "uint4", 4, Kind::kUnsigned, 0, 0, false, 15},
    {22, "int4", "int4", 4, Kind::kSigned, 0, 0, false, 7},
    {23, "float4e2m1", "float4_e2m1fn", 4, Kind::kFloat, 1, 1, true, 6},
    {24, "float8e8m0", "float8_e8m0fnu", 8, Kind::kPowerOfTwo, 0, 127, false, 0x1p127},
    {25, "uint2", "uint2", 2, Kind::kUnsigned, 0, 0, false, 3},
    {26, "int2", "int2", 2, Kind::kSigned, 0, 0, false, 1},
    {27, "float6e2m3", "float6_e2m3fn", 6, Kind::kFloat, 3, 1, true, 7.5},
    {28, "float6e3m2", "float6_e3m2fn", 6, Kind::kFloat, 2, 3, true, 28},
}};

// What a code of a float stands for.
double number_of(std::uint32_t code, const StorageType& type) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (type.kind == Kind::kPowerOfTwo) return code == 255 ? nan : std::ldexp(1.0, static_cast<int>(code) - type.bias);
  const std::uint32_t sign = 1U << (type.bits - 1), magnitude = code & (sign - 1);
  if (!type.has_minus_zero && code == sign) return nan;
  const std::uint32_t digits = magnitude & ((1U << type.mantissa_bits) - 1), exponent = magnitude >> type.mantissa_bits;
  const double fraction = std::ldexp(digits, -type.mantissa_bits) + (exponent != 0 ? 1 : 0);
  const double number = std::ldexp(fraction, static_cast<int>(std::max(exponent, 1U)) - type.bias);
  return (code & sign) != 0 ? -number : number;
}

Tensor u8_scalar(std::int64_t value) { return client::full_i64({}, value, DType::kU8); }

Tensor low_bits(const Tensor& x, const StorageType& type) {
  return client::bit_and(client::cast(x, DType::kU8), (std::int64_t{1} << type.bits) - 1);
}

// The code without its sign of |x|, f32 and no NaN: step is the distance of the type's numbers around it, a power of
// two, so that |x| / step is exact and its nearest integer has the digits; the exponent's are added to them, and what
// is rounded up to the next power of two carries into them.
Tensor magnitude_code(const Tensor& magnitude, const StorageType& type) {
  const int least = 1 - type.bias;  // exponent of the first normal number
  const Tensor bits = client::bitcast(client::minimum(magnitude, 2 * type.greatest), DType::kI32);
  const Tensor exponent = client::maximum(client::shift_right(bits, 23) - 127, least);
  const Tensor one_by_step = client::bitcast(client::shift_left(127 + type.mantissa_bits - exponent, 23), DType::kF32);
  const Tensor digits = client::round(client::minimum(magnitude, 2 * type.greatest) * one_by_step);
  return client::shift_left(exponent - least, type.mantissa_bits) + client::cast(digits, DType::kI32);
}

std::int64_t greatest_code(const StorageType& type) {
  for (std::int64_t code = (std::int64_t{1} << (type.bits - 1)) - 1;; --code) {
    if (number_of(static_cast<std::uint32_t>(code), type) == type.greatest) return code;
  }
}

Tensor encoded_float(const Tensor& given, const StorageType& type, const EncodeConfig& config) {
  const Tensor x = client::cast(given, DType::kF32);
  const Tensor is_nan = client::is_nan(x), code = magnitude_code(client::where(is_nan, 0.0, client::abs(x)), type);
  const std::int64_t greatest = greatest_code(type), sign_bit = std::int64_t{1} << (type.bits - 1);
  const Tensor is_negative = client::less(client::bitcast(x, DType::kI32), 0);
  const Tensor has_sign = type.has_minus_zero ? is_negative : client::bit_and(is_negative, client::not_equal(code, 0));
  Tensor result = client::minimum(code, greatest);
  result = result + client::cast(has_sign, DType::kI32) * sign_bit;
  if (type.has_minus_zero) {
    // There is no NaN: minus zero stands for it, as in ml_dtypes.
    return low_bits(client::where(is_nan, sign_bit, result), type);
  }
  Tensor is_special = is_nan;
  if (!config.saturate) is_special = client::bit_or(is_special, client::greater(code, greatest));
  return low_bits(client::where(is_special, sign_bit, result), type);
}

// The exponent of the power of two: that of x, or the next one.
Tensor encoded_power(const Tensor& given, const EncodeConfig& config) {
  const Tensor x = client::cast(given, DType::kF32), bits = client::bitcast(x, DType::kI32);
  const Tensor exponent = client::bit_and(client::shift_right(bits, 23), 255), digits = client::bit_and(bits, 0x7fffff);
  const Tensor is_subnormal = client::equal(exponent, 0);
  // 2^-127, the least number of the type, has its one digit below those of normal numbers.
  Tensor goes_up = client::full({}, 0.0, DType::kBool);
  if (config.rounding == PowerRounding::kUp)
    goes_up = client::greater(digits, client::where(is_subnormal, 0x400000, client::full_i64({}, 0, DType::kI32)));
  if (config.rounding == PowerRounding::kNearest) {
    const Tensor tie = client::where(is_subnormal, 0x600000, client::full_i64({}, 0x400000, DType::kI32));
    goes_up = client::greater_equal(digits, tie);
  }
  const Tensor code = exponent + client::cast(goes_up, DType::kI32);
  Tensor result = client::minimum(code, 254);
  Tensor is_nan = client::bit_or(client::is_nan(x), client::less(x, 0.0));
  if (!config.saturate) {
    const Tensor below = client::bit_and(is_subnormal, client::less(digits, 0x400000));
    is_nan = client::bit_or(is_nan, client::bit_or(below, client::greater(code, 254)));
  }
  return client::cast(client::where(is_nan, 255, result), DType::kU8);
}

}  // namespace

const StorageType* storage_type(std::int64_t elem_type) {
  const auto found = std::ranges::find(kTypes, elem_type, &StorageType::elem_type);
  return found == kTypes.end() ? nullptr : &*found;
}

const StorageType* storage_type_named(std::string_view name) {
  const auto found = std::ranges::find_if(
      kTypes, [&](const StorageType& type) { return type.name == name || type.ml_dtypes_name == name; });
  return found == kTypes.end() ? nullptr : &*found;
}

std::size_t packed_size(std::int64_t elements, const StorageType& type) {
  const auto count = static_cast<std::size_t>(elements), bits = static_cast<std::size_t>(type.bits);
  return count / 8 * bits + (count % 8 * bits + 7) / 8;
}

std::string unpacked(std::string_view packed, std::int64_t elements, const StorageType& type) {
  std::string codes(static_cast<std::size_t>(elements), '\0');
  std::uint32_t held = 0;
  int bits = 0;
  std::size_t next = 0;
  for (char& code : codes) {
    if (bits < type.bits) {
      held |= std::uint32_t{static_cast<unsigned char>(packed[next++])} << bits;
      bits += 8;
    }
    code = static_cast<char>(held & ((1U << type.bits) - 1));
    held >>= type.bits;
    bits -= type.bits;
  }
  return codes;
}

Tensor unpacked(const Tensor& packed, const client::Shape& shape, const StorageType& type) {
  if (type.bits == 8) return client::reshape(packed, shape);
  // A group is the fewest bytes that hold whole elements: one, or three of elements of six bits.
  const std::int64_t bytes = type.bits == 6 ? 3 : 1, elements = bytes * 8 / type.bits;
  const std::int64_t size = packed.dim(0).value(), groups = (size + bytes - 1) / bytes;
  Tensor by_group = size == groups * bytes ? packed : client::pad(packed, {0}, {groups * bytes - size});
  by_group = client::cast(client::reshape(by_group, {groups, bytes}), bytes == 1 ? DType::kU8 : DType::kU32);
  const DType dtype = by_group.dtype();
  if (bytes > 1) {
    by_group = client::shift_left(by_group, client::arange(bytes, dtype) * 8);
    by_group = client::cast(client::reduce_sum(by_group, {1}, true), dtype);
  }
  const Tensor shifts = client::cast(client::arange(elements, DType::kI64) * type.bits, dtype);
  const Tensor codes =
      client::bit_and(client::shift_right(by_group, shifts), (std::int64_t{1} << type.bits) - 1);  // [groups, elements]
  const Tensor flat = client::reshape(client::cast(codes, DType::kU8), {groups * elements});
  return client::reshape(client::shrink(flat, {0}, {client::num_elements(shape)}), shape);
}

Tensor decoded(const Tensor& codes, const StorageType& type) {
  if (type.kind == Kind::kUnsigned) return codes;
  if (type.kind == Kind::kSigned) {
    const std::int64_t unused = 8 - type.bits;
    return client::shift_right(client::bitcast(client::shift_left(codes, u8_scalar(unused)), DType::kI8), unused);
  }
  std::string table(std::size_t{4} << type.bits, '\0');
  for (std::uint32_t code = 0; code < 1U << type.bits; ++code)
    put_real(table, DType::kF32, code, number_of(code, type));
  const Tensor numbers = client::constant({std::int64_t{1} << type.bits}, DType::kF32, std::move(table));
  return client::gather(numbers, codes, 0);
}

Tensor encoded(const Tensor& x, const StorageType& type, const EncodeConfig& config) {
  if (type.kind == Kind::kFloat) return encoded_float(x, type, config);
  if (type.kind == Kind::kPowerOfTwo) return encoded_power(x, config);
  return low_bits(is_float(x.dtype()) ? client::cast(x, DType::kI32) : x, type);
}

}  // namespace hearth::onnx
