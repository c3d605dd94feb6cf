#include "hearth/ops/trigonometry.h"

#include <cmath>
#include <limits>

#include "client/ops/support.h"
#include "hearth/ops/elementwise.h"

namespace hearth::client {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLog2 = 0.69314718055994530942;

bool is_wide(const Tensor& x) { return x.dtype() == DType::kF64; }

// Horner's rule, the lowest coefficient first.
Tensor polynomial(const Tensor& x, const std::vector<double>& coefficients) {
  Tensor sum = filled(x.shape(), coefficients.back(), x.dtype());
  for (std::size_t i = coefficients.size() - 1; i-- > 0;) sum = sum * x + coefficients[i];
  return sum;
}

// A constant as the nearest value of a dtype and what is missing to the true one.
struct Pair {
  double high, low;
};
Pair half_pi(bool wide) {
  constexpr double kHigh = 1.57079632679489655800, kLow = 6.12323399573676603587e-17;
  if (wide) return {kHigh, kLow};
  const double high = static_cast<float>(kHigh);
  return {high, kHigh - high};
}

Tensor sign_bit_set(const Tensor& x) { return less(bitcast(x, is_wide(x) ? DType::kI64 : DType::kI32), 0); }

Tensor with_sign(const Tensor& magnitude, const Tensor& sign) {
  return where(sign_bit_set(sign), -abs(magnitude), abs(magnitude));
}

// (asin(s) - s) / s for z = s * s, |s| <= 1/2: the rational function of FDLIBM's e_asin.c, for f32 of FreeBSD's
// e_asinf.c.
Tensor asin_ratio(const Tensor& z) {
  if (!is_wide(z)) {
    return z * polynomial(z, {1.6666586697e-01, -4.2743422091e-02, -8.6563630030e-03}) /
           polynomial(z, {1.0, -7.0662963390e-01});
  }
  return z *
         polynomial(z, {1.66666666666666657415e-01, -3.25565818622400915405e-01, 2.01212532134862925881e-01,
                        -4.00555345006794114027e-02, 7.91534994289814532176e-04, 3.47933107596021167570e-05}) /
         polynomial(z, {1.0, -2.40339491173441421878e+00, 2.02094576023350569471e+00, -6.88283971605453293030e-01,
                        7.70381505559019352791e-02});
}

// asin(a) for a < 1/2; beyond, asin(s) for s = sqrt((1 - a) / 2), half the angle that is missing to pi/2. There `high`
// is s without the lower half of its digits, so that its square is exact, and `low` what that and the root's rounding
// lost (FDLIBM's e_asin.c).
struct HalfAngle {
  Tensor small;  // bool: a < 1/2
  Tensor high, low, tail;
};
HalfAngle half_angle(const Tensor& a) {
  const Tensor small = less(a, 0.5);
  const Tensor z = where(small, a * a, (1.0 - a) * 0.5);
  const Tensor s = where(small, a, sqrt(z));
  const DType bits = is_wide(a) ? DType::kI64 : DType::kI32;
  const std::int64_t upper_half = is_wide(a) ? -(std::int64_t{1} << 32) : -(std::int64_t{1} << 12);
  const Tensor high = bitcast(bit_and(bitcast(s, bits), upper_half), a.dtype());
  const Tensor low = where(greater(s, 0.0), (z - high * high) / (s + high), 0.0);
  return {small, where(small, a, high), where(small, 0.0, low), s * asin_ratio(z)};
}

// FDLIBM's polynomial for |r| <= 7/16 (s_atan.c; f32: FreeBSD's s_atanf.c) after the reduction of Cephes' atan.c, whose
// ranges end at tan(pi/8) and tan(3 pi/8).
Tensor atan_of_positive(const Tensor& a) {
  const Pair half = half_pi(is_wide(a));
  const Tensor great = greater(a, 2.41421356237309504880), middle = greater(a, 0.41421356237309504880);
  const Tensor r = where(great, -1.0 / a, where(middle, (a - 1.0) / (a + 1.0), a));
  const Tensor share =
      where(great, filled(a.shape(), 1.0, a.dtype()), where(middle, filled(a.shape(), 0.5, a.dtype()), 0.0));
  const Tensor z = r * r;
  const Tensor series =
      is_wide(a)
          ? polynomial(z, {3.33333333333329318027e-01, -1.99999999998764832476e-01, 1.42857142725034663711e-01,
                           -1.11111104054623557880e-01, 9.09088713343650656196e-02, -7.69187620504482999495e-02,
                           6.66107313738753120669e-02, -5.83357013379057348645e-02, 4.97687799461593236017e-02,
                           -3.65315727442169155270e-02, 1.62858201153657823623e-02})
          : polynomial(z, {3.3333328366e-01, -1.9999158382e-01, 1.4253635705e-01, -1.0648017377e-01, 6.1687607318e-02});
  return share * half.high - ((r * z * series - share * half.low) - r);
}

// e^|x| / 2 to the last place, finite as long as cosh is. kShift is close to log(2) and has so few digits that the
// subtraction is exact where it matters; kScale = e^kShift / 2.
Tensor half_exp(const Tensor& magnitude) {
  constexpr double kShift = 0x1.62e4p-1;
  const double scale = std::exp(kShift - kLog2);
  return exp(magnitude - kShift) * scale;
}

// log(1 + x) by the exact error of 1 + x, as FDLIBM's s_log1p.c.
Tensor log_one_plus(const Tensor& x) {
  const Tensor sum = x + 1.0;
  const Tensor lost = (x - (sum - 1.0)) / sum;
  const Tensor finite = bit_and(greater(sum, 0.0), less(sum, kInfinity));
  return where(equal(x, 0.0), x, log(sum) + where(finite, lost, 0.0));  // -0.0 is itself
}

// log(2 a) where a is so great that 1 counts no more, else log(1 + rest).
Tensor log_of_sum(const Tensor& a, const Tensor& rest) {
  const Tensor great = greater(a, is_wide(a) ? 0x1p500 : 0x1p60);
  return log_one_plus(where(great, a, rest)) + where(great, filled(a.shape(), kLog2, a.dtype()), 0.0);
}

}  // namespace

Tensor asin(const Tensor& x, Loc loc) {
  OpScope scope("asin", loc);
  return in_full_width(x, [](const Tensor& value) {
    const Pair half = half_pi(is_wide(value));
    const auto [small, high, low, tail] = half_angle(abs(value));
    const double quarter = half.high / 2;
    const Tensor far = quarter - ((tail * 2.0 - (half.low - low * 2.0)) - (quarter - high * 2.0));
    return with_sign(where(small, high + tail, far), value);
  });
}

Tensor acos(const Tensor& x, Loc loc) {
  OpScope scope("acos", loc);
  return in_full_width(x, [](const Tensor& value) {
    const Pair half = half_pi(is_wide(value));
    const auto [small, high, low, tail] = half_angle(abs(value));
    const Tensor negative = less(value, 0.0);
    const Tensor near = half.high - (value - (half.low - where(negative, -tail, tail)));
    const Tensor far = (high + (low + tail)) * 2.0;
    return where(small, near, where(negative, 2.0 * half.high - (far - 2.0 * half.low), far));
  });
}

Tensor atan(const Tensor& x, Loc loc) {
  OpScope scope("atan", loc);
  return in_full_width(x, [](const Tensor& value) { return with_sign(atan_of_positive(abs(value)), value); });
}

Tensor atan2(const Operand& y_given, const Operand& x_given) {
  OpScope scope("atan2", y_given.loc);
  const auto [y_matched, x_matched] = match(y_given, x_given);
  const Tensor y = to_wide(y_matched), x = to_wide(x_matched);
  const Pair half = half_pi(is_wide(x));
  const Tensor steep = greater(abs(y), abs(x));
  const Tensor low = minimum(abs(y), abs(x)), high = maximum(abs(y), abs(x));
  // 0 / 0 and infinity / infinity stand for the axes' and the diagonals' angles.
  const Tensor ratio = where(equal(high, 0.0), 0.0, where(equal(low, kInfinity), 1.0, low / high));
  Tensor angle = atan_of_positive(ratio);
  angle = where(steep, half.high - (angle - half.low), angle);
  angle = where(sign_bit_set(x), 2.0 * half.high - (angle - 2.0 * half.low), angle);
  return cast_to(with_sign(angle, y), float_dtype(y_matched));
}

Tensor sinh(const Tensor& x, Loc loc) {
  OpScope scope("sinh", loc);
  return in_full_width(x, [](const Tensor& value) {
    const Tensor a = abs(value), half = half_exp(a), z = value * value;
    // Taylor's series below 1: the difference of the powers would lose digits.
    std::vector<double> series = {1.0 / 6};
    const int last = is_wide(value) ? 19 : 11;
    for (int n = 5; n <= last; n += 2) series.push_back(series.back() / (n * (n - 1)));
    return where(less(a, 1.0), value + value * z * polynomial(z, series), with_sign(half - 0.25 / half, value));
  });
}

Tensor cosh(const Tensor& x, Loc loc) {
  OpScope scope("cosh", loc);
  return in_full_width(x, [](const Tensor& value) {
    const Tensor half = half_exp(abs(value));
    return half + 0.25 / half;
  });
}

// asinh, acosh and atanh: the formulas of FDLIBM's s_asinh.c, e_acosh.c and e_atanh.c.
Tensor asinh(const Tensor& x, Loc loc) {
  OpScope scope("asinh", loc);
  return in_full_width(x, [](const Tensor& value) {
    const Tensor a = abs(value), square = a * a;
    return with_sign(log_of_sum(a, a + square / (sqrt(square + 1.0) + 1.0)), value);
  });
}

Tensor acosh(const Tensor& x, Loc loc) {
  OpScope scope("acosh", loc);
  return in_full_width(x, [](const Tensor& value) {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    const Tensor beyond = where(less(value, 1.0), kNan, value - 1.0);
    return log_of_sum(value, beyond + sqrt(beyond * 2.0 + beyond * beyond));
  });
}

Tensor atanh(const Tensor& x, Loc loc) {
  OpScope scope("atanh", loc);
  return in_full_width(x, [](const Tensor& value) {
    const Tensor a = abs(value), twice = a * 2.0;
    const Tensor inside = log_one_plus(twice + twice * a / (1.0 - a)) * 0.5;
    // Beyond 1 the difference may round to what has a logarithm.
    return with_sign(where(greater(a, 1.0), std::numeric_limits<double>::quiet_NaN(), inside), value);
  });
}

Tensor log1p(const Tensor& x, Loc loc) {
  OpScope scope("log1p", loc);
  return in_full_width(x, log_one_plus);
}

Tensor copysign(const Operand& magnitude, const Operand& sign) {
  OpScope scope("copysign", magnitude.loc);
  const auto [a, b] = match(magnitude, sign);
  const Tensor value = to_float(a), source = to_float(b);
  // f32 holds every narrower float.
  const bool narrow = dtype_bytes(value.dtype()) < 4;
  return with_sign(value, narrow ? cast_to(source, DType::kF32) : source);
}

}  // namespace hearth::client
