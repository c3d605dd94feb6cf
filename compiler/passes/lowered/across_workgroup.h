// AcrossWorkgroup: lines of a linear body that combine a value of each invocation of a workgroup into one that all of
// them have: by halves in shared memory, a barrier after each; where invocations of a subgroup exchange values, those
// of each subgroup first, then one of each through shared memory, with one barrier (M. Harris, "Optimizing parallel
// reduction in CUDA", 2007; J. Luitjens, "Faster parallel reductions on Kepler", 2014). One object a body. The
// workgroup's size is a power of two.
//
//   AcrossWorkgroup workgroup(graph, [&](UOpRef line) { body.push_back(line); });
//   workgroup.open(range, nodes, /*subgroup=*/32);
//   UOpRef sum = workgroup.combine(ir::ReduceKind::Sum, partial, workgroup.size(), open_loops);
#pragma once
#include <functional>
#include <vector>

#include "compiler/ir/graph.h"

namespace hearth::passes {

class AcrossWorkgroup {
 public:
  // `emit` appends a line, unless it stands there already.
  AcrossWorkgroup(ir::Graph& graph, std::function<void(ir::UOpRef)> emit) : g_(graph), emit_(std::move(emit)) {}

  // Lines in front of all loops. `range`: one of those of invocations; `nodes`: of the kernel, whose allocations have
  // other numbers; `subgroup`: invocations that exchange values, 0: none do.
  void open(ir::UOpRef range, const std::vector<ir::UOpRef>& nodes, std::int64_t subgroup);
  ir::UOpRef invocation() const { return invocation_; }  // null: not opened
  std::int64_t size() const { return size_; }

  // The highest digit of the invocation's number, of `size` values.
  ir::UOpRef digit(std::int64_t size);

  // The sum over the invocations that differ in one digit alone. `loops`: the loops around it, outermost first.
  ir::UOpRef combine(ir::ReduceKind kind, ir::UOpRef partial, std::int64_t size, const std::vector<ir::UOpRef>& loops);

 private:
  ir::UOpRef line(ir::UOpRef node) {
    emit_(node);
    return node;
  }
  ir::UOpRef number(std::int64_t value) { return line(g_.constant(ir::Scalar::I64, value)); }
  ir::UOpRef at(ir::UOpRef memory, ir::UOpRef position, ir::UOpRef gate) {
    return line(g_.make(ir::Op::Index, ir::Scalar::Void, {memory, position, gate}));
  }
  ir::UOpRef load(ir::UOpRef index) { return line(g_.make(ir::Op::Load, index->source(0)->dtype, {index})); }
  void store(ir::UOpRef index, ir::UOpRef value) { line(g_.make(ir::Op::Store, ir::Scalar::Void, {index, value})); }
  void barrier();
  ir::UOpRef by_halves(ir::ReduceKind kind, ir::UOpRef partial, std::int64_t results, ir::UOpRef shared);
  // The sum over that many neighbouring invocations.
  ir::UOpRef exchanged(ir::ReduceKind kind, ir::UOpRef value, std::int64_t invocations);

  // A step in which `half` of the values are left: whether this invocation takes part, and whose value it takes.
  struct Step {
    std::int64_t half;
    ir::UOpRef takes_part, other;
  };

  ir::Graph& g_;
  std::function<void(ir::UOpRef)> emit_;
  ir::UOpRef invocation_ = nullptr, first_ = nullptr, always_ = nullptr;
  std::int64_t size_ = 0, subgroup_ = 0;
  std::vector<Step> steps_;  // without exchanges
  // With them: whether it is a subgroup's first, the number of its subgroup, and the subgroup whose value it takes.
  ir::UOpRef is_first_ = nullptr, own_subgroup_ = nullptr, taken_ = nullptr;
  std::uint32_t next_allocation_ = 0, next_barrier_ = 0;
};

}  // namespace hearth::passes
