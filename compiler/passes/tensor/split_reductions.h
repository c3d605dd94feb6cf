// split_reductions: a large reduction becomes parts that threads or invocations divide, and the reduction of those.
//
// A launch is divided along its results, so a reduction to a single value would be one thread's or workgroup's work.
// The first long axis, or all elements in a row for workgroups, is cut into equal parts; their results are stored. Narrow
// floats are summed in f32 up to the end, as in one reduction.
//
// A product of matrices whose results are too few to keep a GPU busy is cut along its sums, too (split-K): the products
// of each part are stored, and added by a kernel of their own.
//
// Where the target bounds the rounds that one invocation makes (Target::max_reduction_rounds), a longer reduction is
// made in stages, none of them longer: over some of its axes first, or over parts of an axis, about as many as a part
// has elements; what is missing to whole parts is the reduction's identity.
#pragma once
#include "compiler/ir/graph.h"
#include "compiler/target/target.h"

namespace hearth::passes {

// Tensor level, after canonicalize. With one thread or workgroup and no bound nothing changes; for several, nor for
// symbolic lengths.
ir::UOpRef split_reductions(ir::Graph& graph, ir::UOpRef sink, const target::Target& target);

}  // namespace hearth::passes
