// What float dtypes can hold: rounding a double to one, its greatest value, and the value of a narrow float's bits.
// Pure functions, thread-safe.
//
//   round_to(Scalar::F8E4M3, 0.3);      // 0.3125
//   round_to(Scalar::F8E5M2, 61440.0);  // infinity
#pragma once
#include <cstdint>

#include "compiler/ir/dtype.h"

namespace hearth::ir {

// The layout of a float of at most 16 bits: sign, exponent, mantissa; bias 2^(exponent_bits - 1) - 1.
struct NarrowFormat {
  int exponent_bits;
  int mantissa_bits;  // without the hidden one
  bool has_infinity;  // false: only the greatest magnitude of the bits is special, it is NaN (OCP's "FN")

  constexpr int least_exponent() const { return 2 - (1 << (exponent_bits - 1)); }  // of normal numbers
};
// Null for f32, f64 and what is no float.
const NarrowFormat* narrow_format(DType dtype);
// A float that has one: code generators keep it as bits and compute in f32.
inline bool is_narrow(DType dtype) { return narrow_format(dtype) != nullptr; }

// The greatest finite value of a float dtype: 65504, 448, ...
double greatest_finite(DType dtype);

// The nearest value of a float dtype, ties to even, in one rounding. Overflow and infinity give infinity, or NaN in
// f8e4m3, which has no infinity.
double round_to(DType dtype, double value);

// The value of the bits of a narrow float; every NaN becomes the one quiet NaN of constants.
double value_of_bits(DType dtype, std::uint32_t bits);

}  // namespace hearth::ir
