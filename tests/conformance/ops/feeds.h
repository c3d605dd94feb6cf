// Deterministic input tensors for tests.
//
//   Feed feed{{ramp(Scalar::F32, {3, 4})}, {}};
#pragma once
#include <cstdint>
#include <vector>

#include "tests/conformance/ops/program.h"

namespace hearth::conformance {

using Shape = std::vector<std::int64_t>;

// Small distinct-looking values, exact in every dtype: integers in [-most, most] (unsigned: [0, 2 most]; bool: both).
HostTensor ramp(ir::Scalar dtype, const Shape& shape, std::uint64_t seed = 1, std::int64_t most = 7);
// Floats in (-2, 2) that are not exact in narrow types; other dtypes as ramp.
HostTensor uniform(ir::Scalar dtype, const Shape& shape, std::uint64_t seed = 1);
// The dtype's edge values (zeros, ones, extremes, infinities, NaN, …), rotated by `shift`.
HostTensor edges(ir::Scalar dtype, std::int64_t shift = 0);

inline const std::vector<ir::Scalar> kIntegers = {ir::Scalar::I8, ir::Scalar::I16, ir::Scalar::I32, ir::Scalar::I64,
                                                  ir::Scalar::U8, ir::Scalar::U16, ir::Scalar::U32, ir::Scalar::U64};
inline const std::vector<ir::Scalar> kFloats = {ir::Scalar::F16, ir::Scalar::BF16, ir::Scalar::F32, ir::Scalar::F64};
inline const std::vector<ir::Scalar> kFp8 = {ir::Scalar::F8E4M3, ir::Scalar::F8E5M2};
inline v1::DType wire(ir::Scalar scalar) { return static_cast<v1::DType>(scalar); }

// Distance of neighbouring values near 1.
double epsilon(ir::Scalar scalar);
// Of the order of `steps` roundings of values about as large as the result.
inline Tolerance roundings(ir::Scalar scalar, double steps) {
  return {steps * epsilon(scalar), steps * epsilon(scalar)};
}

// splitmix64 (Steele, Lea & Flood 2014): the same numbers everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  // low .. high, inclusive.
  std::int64_t in(std::int64_t low, std::int64_t high);
  bool one_in(std::int64_t n) { return in(1, n) == 1; }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(in(0, static_cast<std::int64_t>(from.size()) - 1))];
  }

 private:
  std::uint64_t state_;
};

}  // namespace hearth::conformance
