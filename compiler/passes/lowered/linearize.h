// linearize: kernel AST -> ordered body, the form code generators read.
//
// A body is a list of UOps in execution order (sources before users). Rules of the form, checked by spec_linear:
//   param, var, const   anywhere before use; `var` and `range` are i64
//   range ... end       a loop, value 0 .. size-1 step 1; kind Grid runs grid_begin .. grid_end instead; properly nested
//   acc ... acc_update ... acc_result
//                       an accumulator initialised at `acc`; `acc_result(acc, end)` follows that end
//   load(index(param, i, gate)[, alt])
//                       i scalar and dtype of n lanes: n consecutive elements from i (no alignment beyond the element's);
//                       i of n lanes: a gather; gate: scalar, or one a lane
//   store(index(param, i, gate), value)
//                       likewise; no ranges among its sources any more; one whose position was read from memory stands
//                       behind all stores to that param whose position was not
//   range (invocation)  no loop, and has no end: the invocation's number in its workgroup, 0 .. size-1, size constant;
//                       one a kernel. Then the grid's values are workgroups
//   barrier             in no loop that invocations of a workgroup run differently often
//   exchange(x)         likewise; the other invocation's x, of 32 or 64 bits, where the target exchanges values
//   everything else     elementwise ALU on scalars or on vectors of equal lane counts; stack, broadcast, extract,
//                       horizontal, wmma
// No index dtype, no exp/log/sin/cos/tanh/erf/pow/sigmoid, no tensor-level op is left (earlier passes lowered them).
#pragma once
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"

namespace hearth::passes {

struct LinearKernel {
  std::string symbol;
  std::vector<ir::UOpRef> body;
  int num_buffers = 0;
  int num_vars = 0;
};

// The number of an invocation in its workgroup, whose size it has; null: units are invocations.
inline ir::UOpRef workgroup_of(const LinearKernel& kernel) {
  for (ir::UOpRef x : kernel.body) {
    if (ir::is_range(x, ir::RangeKind::Invocation)) return x;
  }
  return nullptr;
}

// `subgroup`: invocations that may exchange values; 0: none may.
absl::StatusOr<LinearKernel> linearize(ir::Graph& graph, ir::UOpRef kernel, std::int64_t subgroup = 0);

}  // namespace hearth::passes
