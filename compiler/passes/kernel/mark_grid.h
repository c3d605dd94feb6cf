// mark_grid: which loops of a kernel are divided between threads, or between invocations.
//
// The outermost loop that all stores share gets kind Grid when the kernel is worth dividing, alone or, for a target of
// several threads, together with its neighbours (passes/plan/parallel_regions). Where its turns cannot be
// dealt evenly to the target's threads (7 lines of a small image, to 2 or to 16), the next loop inwards is made part of
// it, as long as a unit stays worth more than finding its place. Stores in loops of their own that compute something
// are divided in shares, a unit for each of the target's threads.
//
// Where a unit is an invocation (target::Unit), all loops that every store shares become one, the innermost last, so
// that neighbouring units touch neighbouring elements, until the next one would repeat a reduction for each of its
// turns.
#pragma once
#include "compiler/passes/kernel/kernel.h"
#include "compiler/target/target.h"

namespace hearth::passes {

// `kernel`: sink(store...) after opts, with out.num_ops and out.work. Fills out.grid: units of the Grid range, the
// constant 1 without one.
ir::UOpRef mark_grid(ir::Graph& graph, ir::UOpRef kernel, const target::Target& target, Kernel& out);

}  // namespace hearth::passes
