// narrow_stages: what lies in memory in f32 though it was rounded to f16 or bf16, or is so wherever it is read, is stored
// in 16 bits: half the memory that attention's scores and probabilities move, and operands as matrix units take them.
// For GPUs, whose kernels such values go between. What is rounded is what the traced graph rounds. Statistics of rows
// stay in f32 (wide_values.h).
#pragma once
#include "compiler/ir/graph.h"
#include "compiler/target/target.h"

namespace hearth::passes {

// sink(stage...) behind fuse -> the same stages, some of another type; outputs keep theirs.
ir::UOpRef narrow_stages(ir::Graph& graph, ir::UOpRef sink, const target::Target& target);

}  // namespace hearth::passes
