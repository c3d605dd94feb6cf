// merge_loads: what is chosen from two places of one tensor is one load at the place that is chosen.
//
// A tensor rolled along an axis is the concatenation of two slices of it: a value read from either, under a condition.
// The places differ in some axes only; chosen there, they are scalars that a loop over the last axis leaves as they
// are, where two loads under a condition were repeated with it.
#pragma once
#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"

namespace hearth::passes {

// sink(stage...) -> the same values. where(c, load a[i..., k], load a[j..., k]) becomes load a[where(c, i, j)..., k]
// where c has nothing to do with k, and no value decides.
absl::StatusOr<ir::UOpRef> merge_loads(ir::Graph& graph, ir::UOpRef sink);

}  // namespace hearth::passes
