// The judge of fp8: the two formats' values from the formulas of the OCP 8-bit Floating Point Specification (OFP8,
// revision 1.0, table 1), and an encoder that searches them. Shares no code with what it judges.
//
//   kE4M3.value(0x38);       // 1.0
//   kE5M2.nearest(61440.0);  // 0x7c: infinity
#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace hearth::test {

struct Fp8Judge {
  bool is_e4m3;

  // E4M3: bias 7, S.1111.111 is NaN. E5M2: bias 15, S.11111.00 is infinity, S.11111.{01,10,11} is NaN.
  double value(std::uint8_t bits) const {
    const int magnitude = bits & 0x7f;
    const double sign = bits & 0x80 ? -1.0 : 1.0;
    if (is_e4m3) {
      if (magnitude == 0x7f) return std::numeric_limits<double>::quiet_NaN();
      const int exponent = magnitude >> 3, mantissa = magnitude & 7;
      return sign * (exponent == 0 ? std::ldexp(mantissa / 8.0, -6) : std::ldexp(1 + mantissa / 8.0, exponent - 7));
    }
    if (magnitude > 0x7c) return std::numeric_limits<double>::quiet_NaN();
    if (magnitude == 0x7c) return sign * std::numeric_limits<double>::infinity();
    const int exponent = magnitude >> 2, mantissa = magnitude & 3;
    return sign * (exponent == 0 ? std::ldexp(mantissa / 4.0, -14) : std::ldexp(1 + mantissa / 4.0, exponent - 15));
  }

  // Bits after the greatest finite value: what overflow gives.
  std::uint8_t overflow() const { return is_e4m3 ? 0x7f : 0x7c; }
  bool is_nan(std::uint8_t bits) const { return (bits & 0x7f) > (is_e4m3 ? 0x7e : 0x7c); }

  // The nearest of all values, of two equally near the one with even bits. The value that would follow the greatest
  // finite one (480, 65536) takes part and means overflow, as does everything beyond. NaN is 0x7f here.
  std::uint8_t nearest(double x) const {
    const std::uint8_t sign = std::signbit(x) ? 0x80 : 0;
    if (std::isnan(x)) return sign | 0x7f;
    const double magnitude = std::fabs(x), next = is_e4m3 ? 480 : 65536;
    if (magnitude >= next) return sign | overflow();
    std::uint8_t best = 0;
    double least = magnitude;
    for (int bits = 1; bits <= overflow(); ++bits) {
      const auto candidate = static_cast<std::uint8_t>(bits);
      const double distance = std::fabs((candidate == overflow() ? next : value(candidate)) - magnitude);
      if (distance < least || (distance == least && bits % 2 == 0)) best = candidate, least = distance;
    }
    return sign | best;
  }

  // Equal bits, or both NaN.
  bool same(std::uint8_t a, std::uint8_t b) const { return a == b || (is_nan(a) && is_nan(b)); }
};

inline constexpr Fp8Judge kE4M3{true}, kE5M2{false};

// Every value of f16, whose bits' meaning is spelled out here too.
inline double f16_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const double sign = bits & 0x8000 ? -1.0 : 1.0;
  if (exponent == 31) return mantissa ? std::numeric_limits<double>::quiet_NaN() : sign * INFINITY;
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}

// f32 values at which rounding can go wrong: each value, the middle of each two neighbours, the greatest values and
// the middle beyond, each with its f32 neighbours, both signs; subnormals, extremes, infinities and NaN of f32.
inline std::vector<float> fp8_boundaries(const Fp8Judge& judge) {
  std::vector<float> points = {0.0f, 1e-45f, 1e-38f, 1e-20f, 449.0f, 1e6f, 3.4e38f, INFINITY, NAN};
  for (int bits = 0; bits < judge.overflow(); ++bits) {
    const double here = judge.value(static_cast<std::uint8_t>(bits));
    const double above = bits + 1 < judge.overflow() ? judge.value(static_cast<std::uint8_t>(bits + 1))
                                                     : (judge.is_e4m3 ? 480.0 : 65536.0);
    for (const double middle : {here, (here + above) / 2, above}) {
      const auto x = static_cast<float>(middle);
      for (const float near : {x, std::nextafterf(x, INFINITY), std::nextafterf(x, 0.0f)}) points.push_back(near);
    }
  }
  for (std::size_t i = points.size(); i-- > 0;) points.push_back(-points[i]);
  return points;
}

}  // namespace hearth::test
