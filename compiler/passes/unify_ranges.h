// unify_ranges: one node for each axis of a graph of stages or of a kernel.
//
// Simplification rewrites a range's length where the range stands, and a length may be written in two ways (2*v - 4,
// v + v - 4). A gate that still holds the other node would belong to no loop. Every range becomes the one that its
// stage, store or reduction closes.
#pragma once
#include "compiler/ir/graph.h"

namespace hearth::passes {

ir::UOpRef unify_ranges(ir::Graph& graph, ir::UOpRef kernel);

}  // namespace hearth::passes
