// mark_branches: stages that are one of two values, as a bool in memory says, become choices (StageInfo.choice): each
// value has kernels of its own, and a replay runs those of the one that is taken (passes/ranged/choices).
#pragma once
#include <unordered_set>

#include "compiler/ir/graph.h"

namespace hearth::passes {

// sink(stage...) -> the same with StageInfo.choice set on stored stages whose value is where(load of one bool, a, b) and
// that have something to skip: a reduction, or a stage that one of the two alone needs. `fixed`: the numbers of outputs
// that stay as they are.
ir::UOpRef mark_branches(ir::Graph& graph, ir::UOpRef sink, const std::unordered_set<std::size_t>& fixed);

}  // namespace hearth::passes
