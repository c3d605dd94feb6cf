// Looks for a value outside the bounds that a transfer function (ir::derive_bounds, or a mutant of it) gives. The
// values are those of tests/unit/rules/evaluator, which shares nothing with compiler/ir/bounds.
//
// 8 bits: pairs of intervals as Ends says, each with every value in them; bool: all. 16 bits to index: every pair of
// intervals with ends at and beside the limits of the types, zero and small numbers, with those values and, where an
// end means "no bound", values beyond it (of an index in arithmetic, where the result is inside int64).
//
//   std::optional<std::string> wrong = check_transfer(ir::derive_bounds, Ends::One);   // nothing: sound
#pragma once
#include <optional>
#include <string>

#include "compiler/ir/bounds.h"

namespace hearth::test {

using Transfer = ir::Bounds (*)(ir::Op, ir::DType, std::span<const ir::UOpRef>, const ir::Payload&);

// Pairs of intervals of 8-bit operands. Corners: those that end at the type's limits, about zero, at the limits of the
// other signedness, or at 7 or 100. One: every one of the 32,896 intervals of one operand with those corners of the
// other, either way round. An operation on one operand: every interval with One.
enum class Ends { Corners, One };

struct TransferCounts {
  std::uint64_t cases = 0;  // operations on intervals
};

// The first value found outside its bounds, in words.
std::optional<std::string> check_transfer(Transfer transfer, Ends ends, TransferCounts* counts = nullptr);

}  // namespace hearth::test
