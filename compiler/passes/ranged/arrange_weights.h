// arrange_weights: what a contraction reads of its weights lies in the order of the contraction's loops.
//
// A transposed convolution of stride s reads w[c, k / (s * s), k / s % s + s * i, k % s + s * j]: no sum of multiples
// of its loops, so that no loop over k could load vectors or be packed. Where such weights are the same at every
// replay, a stage of their own holds them as w[i, j, c, k], made once. A convolution of one channel sums along vectors
// of its inputs' channels: its weights w[0, c, i, j] lie as w[i, j, c].
#pragma once
#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"

namespace hearth::passes {

// sink(stage...) -> the same values. Weights are not arranged where that would take more memory than they do.
absl::StatusOr<ir::UOpRef> arrange_weights(ir::Graph& graph, ir::UOpRef sink);

}  // namespace hearth::passes
