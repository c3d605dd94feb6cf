// Matching: the ways in which a pattern is a node. Every order of every commutative operation and every alternative is
// tried, in combination; nothing is allocated. The stack grows with the pattern, and with the number of sources where
// a repeated pattern is more than a leaf: beyond kMaxRepeats of those it does not match.
//
//   match(rule.lhs, rule.dtypes, node, [&](const Match& m) { return m[dsl::x] == wanted; })    // true: one was
//   accepted
#pragma once
#include <array>

#include "absl/functional/function_ref.h"
#include "compiler/rewrite/pattern.h"

namespace hearth::rewrite {

// The one class of a dtype; 0 for void.
DTypeSet dtype_class(ir::DType dtype);

struct Match {
  std::array<ir::UOpRef, kNumCaptures> captures{};
  ir::DType element;  // dtype of x, y, z, w, c0..c3 and what cast() casts to; void when the pattern has none
  ir::DType through;  // of through()
  ir::UOpRef operator[](const Pattern& capture) const { return captures[capture[0].capture]; }
};

inline constexpr std::size_t kMaxRepeats = 256;

// Calls `accept` with one match after the other until it returns true; false when it never does. `dtypes` are those
// the element type may have.
bool match(const Pattern& pattern, DTypeSet dtypes, ir::UOpRef node, absl::FunctionRef<bool(const Match&)> accept);

// The constant of a Const, or of a Broadcast of one; else null.
const ir::ConstValue* as_const(ir::UOpRef node);

}  // namespace hearth::rewrite
