// split_kernels: every stage becomes a kernel of its own, by the list of steps in compiler/compile.cpp; buffers get
// their places, launches their order.
//
// A kernel's AST is sink(store(index(param, flat, true), value, ranges...)); params, vars and axes are numbered in
// order of appearance, so equal kernels have equal text: that text is the kernel's canonical form. The outermost output
// range that is worth dividing has kind Grid, and ranges are split as the target's opts say.
#pragma once
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/passes/import/import.h"
#include "compiler/passes/kernel/kernel_context.h"
#include "compiler/passes/kernel/schedule.h"
#include "compiler/passes/tensor/choose_blobs.h"

namespace hearth::passes {

// What is split: a graph's stages and what they stand for. References are the caller's.
struct StageGraph {
  ir::UOpRef sink = nullptr;
  const ImportedGraph& imported;
  std::vector<std::vector<ir::UOpRef>> output_shapes;  // tensor-level: outputs drop trailing reshapes
  std::vector<BlobKernel> blobs = {};                  // what Blob stages stand for
  std::vector<Schedule> bodies = {};                   // what the loops' bodies became, by LoopInfo::id
};

// `context`: its is_invariant is set here.
absl::StatusOr<Schedule> split_kernels(const StageGraph& stages, KernelContext context, const LowerKernel& lower);

}  // namespace hearth::passes
