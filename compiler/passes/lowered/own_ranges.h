// Ranges that several stores or reductions share, given to some of them as ranges of their own.
#pragma once
#include <vector>

#include "compiler/ir/graph.h"

namespace hearth::passes {

// `kernel` with new ranges in the first of `loops`, stores or reductions, and in those that run over the same ranges;
// grid ranges stay, which are outermost of all stores.
ir::UOpRef with_own_ranges(ir::Graph& graph, ir::UOpRef kernel, const std::vector<ir::UOpRef>& loops);

}  // namespace hearth::passes
