// Element: one scalar value of any dtype, and its exact encoding in a buffer.
//
// Integers, bool and index live in `i` (u64: its bits), floats in `f`, always exactly representable in their dtype.
// Pure functions; thread-safe.
//
//   Element x = decode(Scalar::F16, 0x3c00);            // 1.0
//   double y = round_float(Scalar::BF16, 1.0 / 3);      // the nearest bf16
//   std::int64_t z = wrap_int(Scalar::I8, 200);         // -56
#pragma once
#include <cstdint>
#include <string>

#include "compiler/ir/dtype.h"

namespace hearth::codegen::reference {

struct Element {
  std::int64_t i = 0;
  double f = 0;
  static Element of_int(std::int64_t value) { return {value, 0}; }
  static Element of_float(double value) { return {0, value}; }
};

// The nearest value of a float dtype, ties to even. Overflow gives infinity (f8e4m3, which has none: NaN).
double round_float(ir::Scalar scalar, double value);
// Two's complement wrap into an integer dtype; the lowest bit for bool; index and u64 unchanged.
std::int64_t wrap_int(ir::Scalar scalar, std::int64_t value);
// `value` brought into the dtype: wrapped or rounded.
Element normalize(ir::Scalar scalar, Element value);

// Bits of a value in a buffer, in the lowest byte_size bytes (little endian), and back. NaN is quiet.
std::uint64_t encode(ir::Scalar scalar, Element value);
Element decode(ir::Scalar scalar, std::uint64_t bits);

Element read_element(ir::Scalar scalar, const std::uint8_t* bytes);
void write_element(ir::Scalar scalar, Element value, std::uint8_t* bytes);

// "-3", "0.5", "true": for messages.
std::string to_string(ir::Scalar scalar, Element value);

}  // namespace hearth::codegen::reference
