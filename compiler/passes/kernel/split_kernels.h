// split: every stage becomes a kernel of its own, buffers get their places, indices become flat.
//
// A kernel's AST is sink(store(index(param, flat, true), value, ranges...)); params, vars and axes are numbered in
// order of appearance, so equal kernels have equal text: that text is the kernel's canonical form. The outermost output
// range that is worth dividing has kind Grid, and ranges are split as the target's opts say.
#pragma once
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/passes/import/import.h"
#include "compiler/passes/kernel/choose_opts.h"
#include "compiler/passes/kernel/schedule.h"
#include "compiler/passes/tensor/choose_blobs.h"
#include "compiler/target/target.h"

namespace hearth::passes {

// `blobs` are what Blob stages stand for, `bodies` what the loops' bodies became, by LoopInfo::id. `output_shapes` are
// the tensor-level shapes (outputs drop trailing reshapes).
absl::StatusOr<Schedule> split_kernels(ir::Graph& graph, ir::UOpRef sink, const ImportedGraph& imported,
                                       const std::vector<std::vector<ir::UOpRef>>& output_shapes,
                                       const target::Target& target, const std::vector<BlobKernel>& blobs = {},
                                       const Tuning& tuning = {}, const std::vector<Schedule>& bodies = {});

}  // namespace hearth::passes
