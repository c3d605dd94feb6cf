// exp, exp2 and what is made of exp: sigmoid, tanh, erf.
//
// exp: x = n ln2 + r (Cody and Waite 1980), e^r by a minimax polynomial (Remez), 2^n by exponent arithmetic. n comes
// from the low mantissa bits of x / ln2 + 1.5 * 2^(mantissa bits): no conversion to an integer, which would have to
// saturate. 2^n is applied by scaleb or as two factors, so that subnormal results round once and overflow gives
// infinity.
#include "compiler/passes/lowered/decompose_value.h"

namespace hearth::passes {

namespace {
// 1.5 * 2^23 + 2 * 127, 1.5 * 2^52 + 2 * 1023: rounds to an integer and leaves n + 2 * bias in the low bits.
constexpr double kRound32 = 12582912.0 + 254, kRound64 = 6755399441055744.0 + 2046;

// (e^r - 1 - r) / r^2 for |r| <= ln2 / 2.
Value exp_series(Value r) {
  return r.is_f64()
             ? polynomial(r, {0x1.000000000000ap-1, 0x1.55555555554f7p-3, 0x1.55555555506eap-5, 0x1.1111111128345p-7,
                              0x1.6c16c18488bb6p-10, 0x1.a01a01288d83ep-13, 0x1.a01998fcf30bdp-16,
                              0x1.71df27af11736p-19, 0x1.28ae795466abep-22, 0x1.ad7e548a69d3dp-26})
             : polynomial(r, {0x1.fffffcp-2, 0x1.555490p-3, 0x1.5558fap-5, 0x1.123b68p-7, 0x1.6a21e0p-10});
}

// An exponential as e^r * 2^n with |r| <= ln2 / 2.
struct ExpParts {
  Value mantissa;  // e^r
  Value n;         // a whole number
  Value scaled;    // integer whose low exponent-width bits hold n + 2 * bias
};

// mantissa * 2^n.
Value scale(ExpParts parts, bool scaleb) {
  if (scaleb) return parts.mantissa.binary(ir::Op::ScaleB, parts.n);
  const int mantissa_bits = parts.mantissa.is_f64() ? 52 : 23;
  Value half = parts.scaled >> 1;
  return parts.mantissa * from_bits(half << mantissa_bits) * from_bits((parts.scaled - half) << mantissa_bits);
}
// The same where 1 - bias <= n <= bias.
Value scale_normal(ExpParts parts, bool scaleb) {
  if (scaleb) return scale(parts, scaleb);
  const bool wide = parts.mantissa.is_f64();
  return parts.mantissa * from_bits((parts.scaled - parts.scaled.whole(wide ? 1023 : 127)) << (wide ? 52 : 23));
}

ExpParts exp_parts(Value x) {
  bool wide = x.is_f64();
  double round = wide ? kRound64 : kRound32;
  Value rounded = x * 1.4426950408889634074 + round;
  Value n = rounded - round;
  // The high part of ln2 has few enough bits that its product with n is exact.
  Value r = wide ? x - n * 6.93147180369123816490e-01 - n * 1.90821492927058770002e-10
                 : x - n * 0.693359375 + n * 2.12194440e-4;
  return {1.0 + (r + (r * r) * exp_series(r)), n, bits(rounded)};
}
}  // namespace

Value lower_exp(Value x, bool scaleb) {
  x = x.is_f64() ? clamp(x, -746.0, 710.0) : clamp(x, -104.0, 89.0);
  return scale(exp_parts(x), scaleb);
}

// 2^x = 2^n e^(r ln2) with r = x - n exact, so that whole numbers give exact powers. The product r ln2 is held as a sum
// whose first part is exact: rounding it would cost the last half ulp.
Value lower_exp2(Value x, bool scaleb) {
  bool wide = x.is_f64();
  const double round = wide ? kRound64 : kRound32;
  const double ln2_high = wide ? 6.93147180369123816490e-01 : 0.693359375;
  const double ln2_low = wide ? 1.90821492927058770002e-10 : -2.12194440e-4;
  x = wide ? clamp(x, -1076.0, 1025.0) : clamp(x, -151.0, 129.0);
  Value rounded = x + round;
  Value n = rounded - round, r = x - n, r_high = high_half(r);
  Value high = r_high * ln2_high;
  Value low = (r - r_high) * ln2_high + r * ln2_low, power = high + low;
  return scale({1.0 + (high + (low + (power * power) * exp_series(power))), n, bits(rounded)}, scaleb);
}

// 1 / (1 + e^-x), from e^-|x| so that nothing overflows and small results keep their precision.
Value lower_sigmoid(Value x, bool scaleb) {
  Value e = lower_exp(-abs(x), scaleb);
  return select(x < 0.0, e, 1.0) / (1.0 + e);
}

// |x| < 0.625: odd minimax polynomial (Remez); else 1 - 2 / (e^2|x| + 1), as Cephes' tanhf (Moshier 1989).
Value lower_tanh(Value x, bool scaleb) {
  bool wide = x.is_f64();
  Value magnitude = abs(x);
  double saturated = wide ? 20.0 : 10.0;
  const ExpParts parts = exp_parts(select(saturated < magnitude, saturated, magnitude) * 2.0);
  Value large = 1.0 - 2.0 / (scale_normal(parts, scaleb) + 1.0);
  Value z = x * x;
  Value series = wide ? polynomial(z, {-0x1.5555555555552p-2, 0x1.1111111110c34p-3, -0x1.ba1ba1b9d0d6dp-5,
                                       0x1.664f4870b3e6bp-6, -0x1.226e32cf9cccbp-7, 0x1.d6d35a68259c5p-9,
                                       -0x1.7d9c3705a0794p-10, 0x1.350bb221eb7e3p-11, -0x1.f1156dd1b2629p-13,
                                       0x1.8023af85f7009p-14, -0x1.fae84a3bd39a9p-16, 0x1.9644c235d1634p-18})
                      : polynomial(z, {-0x1.555534p-2, 0x1.110768p-3, -0x1.b8444ap-5, 0x1.5256dcp-6, -0x1.76ac26p-8});
  Value small = magnitude + magnitude * (z * series);
  return with_sign(select(magnitude < 0.625, small, large), x);
}

// |x| < 0.927 (f64: 1.5): odd minimax polynomial; else 1 - e^p(|x|), p(t) = ln(erfc(t)). f32: N. Juffa's erff (2019).
Value lower_erf(Value x, bool scaleb) {
  bool wide = x.is_f64();
  Value magnitude = abs(x), t = magnitude, z = x * x;
  Value small = t, power = t;
  if (wide) {
    t = select(6.0 < t, 6.0, t);
    small =
        magnitude + magnitude * polynomial(z, {0x1.06eba8214db69p-3, -0x1.812746b0379e7p-2, 0x1.ce2f21a042bdep-4,
                                               -0x1.b82ce31288a62p-6, 0x1.565bcd0e6849fp-8, -0x1.c02db3ffe9fe2p-11,
                                               0x1.f9a326f030983p-14, -0x1.f4d25b831313bp-17, 0x1.b9e6bf8515c2ep-20,
                                               -0x1.5f73c2b3fcd84p-23, 0x1.fcbed923194cep-27, -0x1.51b056cdc1308p-30,
                                               0x1.9d154da087bbfp-34, -0x1.cf8b65ca502dfp-38, 0x1.cd08d2c7e3822p-42,
                                               -0x1.6b1914e6b0200p-46, 0x1.4997870e7769ep-51});
    power = polynomial((t - 3.75) * 0.44,
                       {-0x1.ffa9adc456c3ap+3, -0x1.19d5374b39505p+4, -0x1.40c84201d9e25p+2, -0x1.aab0b859d0e7ep-5,
                        0x1.368efd2f0b9dbp-6, -0x1.ca6143f20f289p-8, 0x1.4e48d85d2c3aep-9, -0x1.d974c25499d5dp-11,
                        0x1.3fb574a975d88p-12, -0x1.95d954faabfdap-14, 0x1.ce4dc573764a4p-16, -0x1.4b156770f4fabp-18,
                        0x1.8e9d39be9c364p-20, -0x1.b7e630b4a2c0bp-22, -0x1.e27868b98ae02p-20, -0x1.cc739100bc94cp-23,
                        0x1.a59cf0fb63ccap-22, 0x1.ee63934b107e3p-22, 0x1.4f548d01d17f7p-24});
  } else {
    t = select(4.0 < t, 4.0, t);
    small = magnitude + magnitude * polynomial(z, {1.28379166e-1, -3.76125336e-1, 1.12819925e-1, -2.67681349e-2,
                                                   4.99119423e-3, -5.96761703e-4});
    power = t * polynomial(t, {-1.28717512e-1, -6.34846687e-1, -1.06777877e-1, 2.42546219e-2, -3.88396438e-3,
                               3.83197126e-4, -1.72853470e-5}) -
            t;
  }
  Value large = 1.0 - scale_normal(exp_parts(power), scaleb);
  return with_sign(select(magnitude < (wide ? 1.5 : 0.927734375), small, large), x);
}

}  // namespace hearth::passes
