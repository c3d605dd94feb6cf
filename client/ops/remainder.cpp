#include "client/ops/remainder.h"

#include <limits>

#include "client/ops/support.h"
#include "hearth/ops/elementwise.h"

namespace hearth::client {
namespace {

// How a float is laid out, and its integers.
struct Layout {
  DType bits;
  int digits;        // stored ones, without the leading 1
  int max_exponent;  // of a finite number, biased
};
Layout layout_of(DType dtype) {
  return dtype == DType::kF64 ? Layout{DType::kI64, 52, 2046} : Layout{DType::kI32, 23, 254};
}

// |x| = mantissa * 2^(exponent - offset), integers of x's width.
struct Parts {
  Tensor mantissa, exponent;
};
Parts parts_of(const Tensor& magnitude, const Layout& layout) {
  const Tensor bits = bitcast(magnitude, layout.bits);
  const Tensor exponent = shift_right(bits, layout.digits);
  const std::int64_t leading = std::int64_t{1} << layout.digits;
  const Tensor digits = bit_and(bits, leading - 1);
  return {where(equal(exponent, 0), digits, digits + leading), maximum(exponent, 1)};
}

// (value * 2^shift) mod divisor for value < divisor < 2^24 and shift <= 253: as many digits at a time as 64 bits hold.
Tensor shifted_mod_f32(const Tensor& value, const Tensor& shift, const Tensor& divisor) {
  constexpr std::int64_t kStep = 40;
  const Tensor by = cast_to(divisor, DType::kU64);
  Tensor rest = cast_to(value, DType::kU64), left = cast_to(shift, DType::kU64);
  for (std::int64_t done = 0; done < 254; done += kStep) {
    const Tensor now = minimum(left, kStep);
    rest = trunc_mod(shift_left(rest, now), by);
    left = left - now;
  }
  return rest;
}

// a * b mod m for a, b < m < 2^53: the quotient in f64 is off by two at most, and the product's low 64 bits tell how
// far.
Tensor product_mod(const Tensor& a, const Tensor& b, const Tensor& m) {
  const auto real = [](const Tensor& x) { return cast_to(x, DType::kF64); };
  const Tensor quotient = cast_to(real(a) * real(b) / real(m), DType::kI64);
  Tensor rest = a * b - quotient * m;
  for (int i = 0; i < 3; ++i) rest = where(less(rest, 0), rest + m, rest);
  for (int i = 0; i < 3; ++i) rest = where(greater_equal(rest, m), rest - m, rest);
  return rest;
}

// The same for divisor < 2^53 and shift <= 2045: by squaring 2.
Tensor shifted_mod_f64(const Tensor& value, const Tensor& shift, const Tensor& divisor) {
  constexpr int kShiftBits = 11;
  Tensor rest = value, power = trunc_mod(filled(value.shape(), std::int64_t{2}, DType::kI64), divisor);
  for (int bit = 0; bit < kShiftBits; ++bit) {
    const Tensor is_set = not_equal(bit_and(shift, std::int64_t{1} << bit), 0);
    rest = where(is_set, product_mod(rest, power, divisor), rest);
    if (bit + 1 < kShiftBits) power = product_mod(power, power, divisor);
  }
  return rest;
}

// The power of two with this biased exponent, which is that of a normal number.
Tensor power_of_two(const Tensor& exponent, const Layout& layout, DType dtype) {
  return bitcast(shift_left(exponent, layout.digits), dtype);
}

Tensor in_wide(const Tensor& x, const Tensor& y) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const DType dtype = x.dtype();
  const bool is_f64 = dtype == DType::kF64;
  const Layout layout = layout_of(dtype);
  const Tensor a = abs(x), b = abs(y);
  const Parts n = parts_of(a, layout), d = parts_of(b, layout);
  // Where y is 0 any divisor will do, the result is replaced.
  const Tensor divisor = maximum(d.mantissa, 1);
  const Tensor shift = maximum(n.exponent - d.exponent, 0);
  const Tensor first = trunc_mod(n.mantissa, divisor);
  const Tensor rest = is_f64 ? shifted_mod_f64(first, shift, divisor) : shifted_mod_f32(first, shift, divisor);
  // rest * 2^(exponent of y): as two factors, both of which are exact.
  const double digits = is_f64 ? 0x1p-52 : 0x1p-23;
  const Tensor scaled =
      cast_to(rest, dtype) * digits * power_of_two(minimum(d.exponent, layout.max_exponent), layout, dtype);
  const Tensor magnitude = where(less(a, b), a, scaled);
  const Tensor sign_bit = bit_and(bitcast(x, layout.bits), std::int64_t{-1} << (is_f64 ? 63 : 31));
  const Tensor signed_rest = bitcast(bit_or(bitcast(magnitude, layout.bits), sign_bit), dtype);
  // A number that is no remainder: NaN anywhere, x infinite, y zero.
  const Tensor is_undefined = bit_or(bit_or(is_nan(y), logical_not(less(a, kInfinity))), equal(b, 0.0));
  return where(is_undefined, std::numeric_limits<double>::quiet_NaN(), signed_rest);
}

}  // namespace

Tensor float_remainder(const Tensor& x, const Tensor& y) { return cast_to(in_wide(to_wide(x), to_wide(y)), x.dtype()); }

}  // namespace hearth::client
