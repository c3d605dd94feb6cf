// block_rows: a kernel that keeps rows of stages (passes/ranged/compute_at) works on a block of rows at a time.
//
// The innermost loop `rows` that all stores share is divided into blocks; inside a block each store has a loop of its
// own, and every allocation of a row becomes one of the block's rows. What the rows read alike is then read once a
// block, and the stores can be tiled as if they were kernels of their own.
#pragma once
#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"
#include "compiler/target/target.h"

namespace hearth::passes {

// `kernel`: a flat kernel, before opts. Left as it is when no allocation depends on `rows`, or it is null.
// A block has as many rows as the target's allocations hold, or as a workgroup of it keeps (schedule/kept_rows).
absl::StatusOr<ir::UOpRef> block_rows(ir::Graph& graph, ir::UOpRef kernel, ir::UOpRef rows,
                                      const target::Target& target);

}  // namespace hearth::passes
