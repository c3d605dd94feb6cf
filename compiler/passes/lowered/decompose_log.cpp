// log, log2, and pow by way of log2. x = 2^k m with m near 1 by arithmetic on the bits; subnormals are scaled first.
#include "compiler/passes/lowered/decompose_value.h"

namespace hearth::passes {

namespace {

struct Split {
  Value exponent;  // k, as a float
  Value mantissa;  // m
};

// Least mantissa: sqrt(1/2) for f64, 2/3 for f32.
Split split(Value x) {
  bool wide = x.is_f64();
  Value tiny = x < (wide ? 0x1p-1022 : 0x1p-126);
  Value b = bits(select(tiny, x * (wide ? 0x1p54 : 0x1p23), x));
  Value k = (b - b.whole(wide ? 0x3fe6a09e667f3bcd : 0x3f2aaaab)) >> (wide ? 52 : 23);
  Value mantissa = from_bits(b - (k << (wide ? 52 : 23)));
  // k to float without an int -> float conversion, which processors may lack for 64 bits: it goes into a mantissa's low bits.
  double magic = wide ? 6755399441055744.0 : 12582912.0;
  Value exponent = from_bits(k + bits(x.number(magic))) - magic;
  return {exponent - select(tiny, wide ? 54.0 : 23.0, x.number(0.0)), mantissa};
}

// What no formula gives: zero, negative numbers, infinity and NaN.
Value finish_log(Value x, Value result) {
  result = select(x < kInfinity, result, x);
  return select(0.0 < x, result, select(x == 0.0, -kInfinity, x.number(kNaN)));
}

// (log(1 + f) - f + f^2/2) / f^3 for f32: f in [-1/3, 1/3], minimax (Remez).
Value log_cubic(Value f) {
  return polynomial(f, {0x1.555556p-2, -0x1.ffff0ep-3, 0x1.99977ep-3, -0x1.559908p-3, 0x1.24f48ap-3, -0x1.f389dcp-4,
                        0x1.b87e7cp-4, -0x1.071168p-3, 0x1.ebcfbap-4});
}

// log(1 + f) - f + f^2/2 for f64: FDLIBM's e_log.c (Sun Microsystems 1993).
Value log_tail(Value f, Value half_square) {
  Value s = f / (f + 2.0), z = s * s;
  Value r = z * polynomial(z, {6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
                               2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01,
                               1.479819860511658591e-01});
  return s * (half_square + r);
}

// log2(a) for positive finite f64, relative error 2^-50: atanh series in s = (m - 1) / (m + 1), minimax (Remez).
Value rough_log2(Value a) {
  auto [k, m] = split(a);
  Value s = (m - 1.0) / (m + 1.0);
  return s * polynomial(s * s, {0x1.71547652b82ffp+1, 0x1.ec709dc39c7b2p-1, 0x1.2776c516e6ba0p-1, 0x1.a6175629d05a9p-2,
                                0x1.484fc1df325ffp-2, 0x1.0bb4f275251d8p-2, 0x1.f1c93c0bc0fffp-3}) +
         k;
}

// |x|^y in f64 for f32 arguments: there the roundings do not count.
Value magnitude_f32(Value x, Value y) {
  Value a = abs(x).to(ir::Scalar::F64), b = y.to(ir::Scalar::F64);
  Value logarithm = select(a < kInfinity, rough_log2(a), a);
  logarithm = select(a == 0.0, -kInfinity, logarithm);
  Value t = clamp(select(a == 1.0, 0.0, b * logarithm), -200.0, 200.0);
  constexpr double kRound = 6755399441055744.0 + 1023;
  Value rounded = t + kRound;
  Value r = t - (rounded - kRound);
  Value power = polynomial(
      r, {0x1.ffffffffff790p-1, 0x1.62e42fef85d8ap-1, 0x1.ebfbdff933977p-3, 0x1.c6b08dd508a4ep-5, 0x1.3b2ab5c3642bfp-7,
          0x1.5d87477c28087p-10, 0x1.430ace496ced4p-13, 0x1.00db50860b05ep-16, 0x1.61af5d5e3002fp-20});
  return (power * from_bits(bits(rounded) << 52)).to(ir::Scalar::F32);
}

// |x|^y in double-double by the method of FDLIBM's e_pow.c (Sun Microsystems 1993), without its branches.
Value magnitude_f64(Value x, Value y) {
  Value a = abs(x);
  auto [k, m] = split(a);                    // m in [sqrt(1/2), sqrt(2)): FDLIBM's [1, 2) with bp = 1 or 1.5
  Value below = m < 0.86602540378443864676;  // sqrt(3) / 2: use twice m around 1.5
  Value above = 1.22474487139158904910 < m;  // sqrt(3 / 2): use m around 1.5
  Value at_three_halves = below | above;
  m = select(below, m + m, m);
  k = k - select(below, 1.0, k.number(0.0));
  Value bp = select(at_three_halves, 1.5, m.number(1.0));
  Value dp_high = select(at_three_halves, 5.84962487220764160156e-01, m.number(0.0));
  Value dp_low = select(at_three_halves, 1.35003920212974897128e-08, m.number(0.0));

  Value u = m - bp, sum = m + bp, v = 1.0 / sum;
  Value s = u * v, s_high = high_half(s);
  Value t_high = high_half(sum), t_low = m - (t_high - bp);
  Value s_low = v * ((u - s_high * t_high) - s_high * t_low);
  Value s2 = s * s;
  Value r = s2 * s2 *
            polynomial(s2, {5.99999999999994648725e-01, 4.28571428578550184252e-01, 3.33333329818377432918e-01,
                            2.72728123808534006489e-01, 2.30660745775561754067e-01, 2.06975017800338417784e-01});
  r = r + s_low * (s_high + s);
  Value square = s_high * s_high;
  t_high = high_half(3.0 + square + r);
  t_low = r - ((t_high - 3.0) - square);
  u = s_high * t_high;
  v = s_low * t_high + t_low * s;
  Value p_high = high_half(u + v), p_low = v - (p_high - u);
  Value z_high = p_high * 9.61796700954437255859e-01;
  Value z_low = p_high * -7.02846165095275826516e-09 + p_low * 9.61796693925975554329e-01 + dp_low;
  Value log_high = high_half(((z_high + z_low) + dp_high) + k);
  Value log_low = z_low - (((log_high - k) - dp_high) - z_high);

  // y * log2|x|; |y| beyond 1e300 behaves like infinity there.
  y = clamp(y, -1e300, 1e300);
  Value y_high = high_half(y);
  p_low = (y - y_high) * log_high + y * log_low;
  p_high = y_high * log_high;
  Value z = p_low + p_high;
  constexpr double kRound = 6755399441055744.0 + 2046;
  Value rounded = clamp(z, -1100.0, 1100.0) + kRound;
  p_high = p_high - (rounded - kRound);
  Value t = high_half(p_low + p_high);
  u = t * 6.93147182464599609375e-01;
  v = (p_low - (t - p_high)) * 6.93147180559945286227e-01 + t * -1.90465429995776804525e-09;
  Value e = u + v, w = v - (e - u);
  Value e2 = e * e;
  Value q =
      e - e2 * polynomial(e2, {1.66666666666666019037e-01, -2.77777777770155933842e-03, 6.61375632143793436117e-05,
                               -1.65339022054652515390e-06, 4.13813679705723846039e-08});
  Value power = 1.0 - (((e * q) / (q - 2.0) - (w + e * w)) - e);
  Value scaled = bits(rounded), half = scaled >> 1;
  Value result = power * from_bits(half << 52) * from_bits((scaled - half) << 52);
  result = select(1025.0 < z, kInfinity, result);
  result = select(z < -1080.0, 0.0, result);
  Value extreme = (a == 0.0) | (a == kInfinity);
  Value to_infinity = (a == 0.0) ^ (0.0 < y);
  return select(extreme, select(to_infinity, kInfinity, y.number(0.0)), result);
}

}  // namespace

Value lower_log(Value x) {
  auto [k, m] = split(x);
  Value f = m - 1.0;
  if (!x.is_f64())
    return finish_log(x, k * 0.693359375 + (k * -2.12194440e-4 + ((f * f) * (log_cubic(f) * f - 0.5) + f)));
  Value half_square = f * f * 0.5;
  Value tail = log_tail(f, half_square) + k * 1.90821492927058770002e-10;
  return finish_log(x, k * 6.93147180369123816490e-01 - ((half_square - tail) - f));
}

// FreeBSD's e_log2.c and e_log2f.c: the high parts of f - f^2/2 and of log2(e) have an exact product. Powers of two
// give whole numbers.
Value lower_log2(Value x) {
  bool wide = x.is_f64();
  const double log2e_high = wide ? 1.44269504072144627571e+00 : 1.4428710938e+00;
  const double log2e_low = wide ? 1.67517131648865118353e-10 : -1.7605285393e-04;
  auto [k, m] = split(x);
  Value f = m - 1.0, square = f * f, half_square = square * 0.5;
  Value tail = wide ? log_tail(f, half_square) : square * (log_cubic(f) * f);
  Value high = high_half(f - half_square);
  Value low = ((f - high) - half_square) + tail;
  Value product = high * log2e_high, sum = k + product;
  return finish_log(x, (((k - sum) + product) + ((low + high) * log2e_low + low * log2e_high)) + sum);
}

// |x|^y with the sign and the special cases of IEEE 754-2019, 9.2.1.
Value lower_pow(Value x, Value y) {
  Value magnitude = x.is_f64() ? magnitude_f64(x, y) : magnitude_f32(x, y);
  Value half = y * 0.5;
  Value is_integer = trunc(y) == y;
  Value is_odd = is_integer & (trunc(half) != half);
  Value result = select(is_odd, with_sign(magnitude, x), magnitude);
  Value undefined = (x < 0.0) & (-kInfinity < x) & !is_integer;
  undefined = undefined | (x != x) | (y != y);
  result = select(undefined, kNaN, result);
  return select((y == 0.0) | (x == 1.0), 1.0, result);
}

}  // namespace hearth::passes
