// split_reductions: a large reduction to one value becomes parts that threads divide, and the reduction of those.
//
// A launch is divided along its results, so a reduction to a single value would be one thread's work. The first long
// axis is cut into equal parts; their results are stored. Narrow floats are summed in f32 up to the end, as in one
// reduction.
#pragma once
#include "compiler/ir/graph.h"
#include "compiler/target/target.h"

namespace hearth::passes {

// Tensor level, after canonicalize. With one thread nothing changes, nor for symbolic lengths.
ir::UOpRef split_reductions(ir::Graph& graph, ir::UOpRef sink, const target::Target& target);

}  // namespace hearth::passes
