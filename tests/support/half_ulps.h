// Distances in units of the last place of f16 and bf16.
//
//   CHECK(most_ulps_apart(got, want) <= 2);        // got f16 or bf16, want f64
#pragma once
#include <algorithm>
#include <cmath>
#include <string_view>

#include "client/tensor/elements.h"
#include "hearth/npy.h"

namespace hearth::test {

// The nearest value of the type.
inline double rounded(double value, DType half) {
  return client::decode_float(client::encode_float(value, half), half);
}

// The distance of `got`, of the type `half`, from `want`, rounded once, in units of `want`'s last place. Infinity
// counts as the first number that the type has not; 0 for two NaN, infinity for one.
inline double ulps_apart(double got, double want, DType half) {
  const int digits = half == DType::kF16 ? 10 : 7, least = half == DType::kF16 ? -14 : -126,
            beyond = half == DType::kF16 ? 16 : 128;
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want) ? 0 : INFINITY;
  const auto finite = [&](double x) { return std::isinf(x) ? std::copysign(std::ldexp(1.0, beyond), x) : x; };
  const double a = finite(got), b = finite(rounded(want, half));
  const int exponent = b == 0 ? least : std::max(least, std::ilogb(b));
  return std::fabs(a - b) / std::ldexp(1.0, exponent - digits);
}

// The greatest finite magnitude of an f64 array, at least 1 and at most f16's.
inline double greatest(const client::Array& x) {
  double most = 1;
  for (std::size_t at = 0; at < x.bytes.size(); at += 8) {
    const double value = client::decode_float(std::string_view(x.bytes).substr(at, 8), DType::kF64);
    if (std::isfinite(value)) most = std::max(most, std::fabs(value));
  }
  return std::min(most, 65536.0);
}

// Of arrays of one shape; `got` f16 or bf16, `want` f64. What is computed in f32 and is small beside the greatest
// result, or beside 1, has the digits that f32 leaves it: differences below 2^-22 of that do not count.
inline double most_ulps_apart(const client::Array& got, const client::Array& want) {
  const std::size_t width = dtype_bytes(got.dtype);
  const double ignored = std::ldexp(greatest(want), -22);
  double most = 0;
  for (std::size_t i = 0; i * width < got.bytes.size(); ++i) {
    const double a = client::decode_float(std::string_view(got.bytes).substr(i * width, width), got.dtype);
    const double b = client::decode_float(std::string_view(want.bytes).substr(i * 8, 8), DType::kF64);
    if (std::isnan(a) || std::isnan(b) || std::fabs(a - b) > ignored)
      most = std::max(most, ulps_apart(a, b, got.dtype));
  }
  return most;
}

}  // namespace hearth::test
