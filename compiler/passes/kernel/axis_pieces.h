// What becomes of an axis that an opt divides: a loop over whole groups, the loop within a group, and the remainder.
//
//   FreshAxes axes(graph, kernel);
//   const AxisPieces p = pieces_of(axes, range, opt);   // p.main_position in the place of `range`, p.tail_position again
#pragma once
#include "compiler/ir/graph.h"
#include "compiler/ir/shape.h"
#include "compiler/schedule/opts.h"

namespace hearth::passes {

// Ranges with axes of their own in a kernel.
class FreshAxes {
 public:
  FreshAxes(ir::Graph& graph, ir::UOpRef kernel) : graph_(graph), next_(ir::next_axis(kernel)) {}

  ir::Graph& graph() const { return graph_; }
  ir::UOpRef range(ir::UOpRef size, ir::RangeKind kind) { return graph_.range(size, next_++, kind); }

 private:
  ir::Graph& graph_;
  std::uint32_t next_;
};

struct AxisPieces {
  ir::UOpRef main_position = nullptr, main_range = nullptr, inner = nullptr;       // null: no whole piece
  ir::UOpRef tail_position = nullptr, tail_range = nullptr, tail_inner = nullptr;  // null: no remainder
  ir::UOpRef tail_gate = nullptr;                                                  // lanes of the remainder that count
};

// range -> outer * amount + inner (Spread: inner * count + outer), and the remainder. A loop of one iteration is its
// value. `fills_up`: a last group may be filled up with zeros.
AxisPieces pieces_of(FreshAxes& axes, ir::UOpRef range, const schedule::Opt& opt, bool fills_up = false);

// `root` with memory that depends on `range` touched only where `gate` holds.
ir::UOpRef gated(ir::Graph& graph, ir::UOpRef root, ir::UOpRef range, ir::UOpRef gate);

// The length of a loop, so that one that is always zero or one is known.
ir::UOpRef simplified_length(ir::Graph& graph, ir::UOpRef length);

// For all values of the variables.
bool is_multiple(ir::UOpRef size, std::int64_t amount);

}  // namespace hearth::passes
