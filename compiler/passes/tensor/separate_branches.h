// separate_branches: what one bool chooses between is stored by kernels of its own, so that a replay runs those of the
// branch that is taken alone (passes/ranged/mark_branches, passes/ranged/choices).
//
// A branch is what is needed for one value of the bool only: every way from it to an output goes through where(bool, a,
// b) on its side. It is worth kernels of its own where it has reductions and does more operations than launches cost
// (CoreModel::branch_work). Loops, blobs and scatters, and what they read, are always run.
#pragma once
#include "compiler/ir/graph.h"

namespace hearth::passes {

// sink -> the same with `contiguous` around such a where and around its bool.
ir::UOpRef separate_branches(ir::Graph& graph, ir::UOpRef sink);

}  // namespace hearth::passes
