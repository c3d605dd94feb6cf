#include "proto/sample_values.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/split_mix.h"

namespace hearth {
namespace {

// Bit patterns from that of 1/16 up to that of 1, which is 4 steps of the exponent further on.
template <class T>
void fill(Bytes bytes, std::uint64_t seed, T first, T count) {
  for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    const T value = static_cast<T>(first + next_random(seed) % count);
    std::memcpy(bytes.data() + at, &value, sizeof(T));
  }
}

template <class T>
T read(ConstBytes bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

double from_f16(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 31) return fraction ? NAN : sign * INFINITY;
  return sign * (exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24));
}

std::vector<double> floats(v1::DType dtype, ConstBytes bytes) {
  std::vector<double> values;
  if (dtype == v1::F32) {
    for (std::size_t i = 0; i < bytes.size() / 4; ++i) values.push_back(read<float>(bytes, i));
  } else if (dtype == v1::F64) {
    for (std::size_t i = 0; i < bytes.size() / 8; ++i) values.push_back(read<double>(bytes, i));
  } else {
    for (std::size_t i = 0; i < bytes.size() / 2; ++i) {
      const auto bits = read<std::uint16_t>(bytes, i);
      values.push_back(dtype == v1::F16 ? from_f16(bits) : std::bit_cast<float>(std::uint32_t{bits} << 16));
    }
  }
  return values;
}

double tolerance_of(v1::DType dtype) {
  switch (dtype) {
    case v1::F64:
      return 1e-10;
    case v1::F32:
      return 1e-4;
    case v1::F16:
      return 1e-2;
    case v1::BF16:
      return 5e-2;
    default:
      return 0;
  }
}

}  // namespace

void fill_sample(v1::DType dtype, Bytes bytes, std::uint64_t seed) {
  switch (dtype) {
    case v1::F64:
      return fill<std::uint64_t>(bytes, seed, 0x3fb0'0000'0000'0000u, 0x0040'0000'0000'0000u);
    case v1::F32:
      return fill<std::uint32_t>(bytes, seed, 0x3d80'0000u, 0x0200'0000u);
    case v1::F16:
      return fill<std::uint16_t>(bytes, seed, 0x2c00u, 0x1000u);
    case v1::BF16:
      return fill<std::uint16_t>(bytes, seed, 0x3d80u, 0x0200u);
    case v1::I64:
    case v1::U64:
      return fill<std::uint64_t>(bytes, seed, 0, 64);
    case v1::I32:
    case v1::U32:
      return fill<std::uint32_t>(bytes, seed, 0, 64);
    case v1::I16:
    case v1::U16:
      return fill<std::uint16_t>(bytes, seed, 0, 64);
    case v1::BOOL:
      return fill<std::uint8_t>(bytes, seed, 0, 2);
    default:
      return fill<std::uint8_t>(bytes, seed, 0, 64);
  }
}

std::string difference(v1::DType dtype, ConstBytes wanted, ConstBytes got) {
  if (wanted.size() != got.size()) return absl::StrCat(got.size(), " bytes instead of ", wanted.size());
  const double tolerance = tolerance_of(dtype);
  if (tolerance == 0) {
    const auto at = std::mismatch(wanted.begin(), wanted.end(), got.begin()).first;
    return at == wanted.end() ? "" : absl::StrCat("byte ", at - wanted.begin(), " of the result differs");
  }
  const std::vector<double> a = floats(dtype, wanted), b = floats(dtype, got);
  double mean = 0;
  for (double x : a) mean += std::isfinite(x) ? std::abs(x) / static_cast<double>(a.size()) : 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (std::abs(a[i] - b[i]) <= tolerance * std::max(std::abs(a[i]), mean)) continue;
    return absl::StrCat("element ", i, " of the result is ", b[i], " instead of ", a[i]);
  }
  return "";
}

}  // namespace hearth
