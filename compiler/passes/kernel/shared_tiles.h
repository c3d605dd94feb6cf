// shared_tiles: what a reduction reads, a tile at a time, through shared memory. The reduced axis that the opt names
// becomes a loop over tiles; in each round of it, the invocations of a workgroup copy all that they read for the tile,
// neighbours beside each other, and then compute on the copies (V. Volkov and J. Demmel, "Benchmarking GPUs to tune
// dense linear algebra", SC 2008). Barriers are placed where the loops are in order (passes/lowered/place_barriers).
//
// An operand has a copy if it depends on the workgroup's own axes by ranges of constant length alone, and each element
// of the copy is read twice or more; other operands are read from where they are.
#pragma once
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/schedule/opts.h"

namespace hearth::passes {

// A kernel of one store and one reduction over the axis, after apply_opts; any other kernel stays as it is.
absl::StatusOr<ir::UOpRef> share_tiles(ir::Graph& graph, ir::UOpRef kernel, const std::vector<schedule::Opt>& opts);

}  // namespace hearth::passes
