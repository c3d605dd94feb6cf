// Conditions on one range, solved for it: i + a < b is i < b - a. What the reduction rules collapse loops with.
//
//   depends_on(value, i)                     whether `value` reads the range i
//   solve(i + 2 == j, i)                     {i == j - 2}
//   solve(cast<i64>(i) < load, i)            {i < cast<index>(load)}
#pragma once
#include <optional>

#include "compiler/ir/graph.h"

namespace hearth::rules {

bool depends_on(ir::UOpRef value, ir::UOpRef range);

// The range is equal to, at most, below, at least or above `at`, an index that does not depend on the range.
struct Solved {
  enum class Kind { Equal, AtMost, Below, AtLeast, Above } kind;
  ir::UOpRef at;
};

// A comparison (Eq, Lt, Le) of scalar integers, one side of which is the range, perhaps negated, plus terms without it.
// Fixed widths: the side with the range must be a cast of an index that fits the width. Nothing when the solution
// could leave int64.
std::optional<Solved> solve(ir::Graph& graph, ir::UOpRef comparison, ir::UOpRef range);

}  // namespace hearth::rules
