// kernel_estimate: cycles of one launch on one core, as far as a kernel's loops and opts tell: two multiply-adds and
// two loads a cycle, a sum waits four cycles for the one before, gathered lanes are loads of their own. Caches and
// memory count nothing, so it is what a kernel can reach, not what it will. For `hearth explain` and for tests that
// look for kernels far below their class; pure.
#pragma once
#include "compiler/ir/graph.h"
#include "compiler/target/target.h"

namespace hearth::passes {

// `kernel`: after opts, sink(store(index(param | allocation, position, gate), value, ranges...)...).
double estimated_cycles(ir::UOpRef kernel);

// Multiply-adds count two: what a core can do in a cycle at most, of f32 and without matrix units.
double ops_per_cycle(const target::Target& target);

}  // namespace hearth::passes
