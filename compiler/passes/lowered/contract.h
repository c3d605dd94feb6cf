// contract: a reduction with a Group range, seen as what one Wmma computes an iteration. Used by expand.
//
// sum over q of cast(a[q]) * cast(b[q, j]), j the lanes of the result, is wmma(a, b) when a does not depend on j. Its
// operands get lanes of their own: a's are q, b's are j and q at once, L with j = L / group and q = L % group, so that
// an operand packed in that order (passes/kernel/pack_operands) is one vector load.
#pragma once
#include <optional>

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"

namespace hearth::passes {

struct Contraction {
  ir::UOpRef a = nullptr, b = nullptr;              // narrow operands over ranges of their own
  ir::UOpRef a_lanes = nullptr, b_lanes = nullptr;  // those ranges, of kind Lanes
  ir::UOpRef lanes = nullptr;                       // the result's
  ir::WmmaInfo info;
};

// Nothing when `reduce` is no such product: its Group range is then one to unroll. `next_axis`: the first unused one.
absl::StatusOr<std::optional<Contraction>> contract(ir::Graph& graph, ir::UOpRef reduce, std::uint32_t next_axis);

}  // namespace hearth::passes
