// wide_values: arithmetic in f16 and bf16 keeps its values in f32 from one operation to the next.
//
// Operations on 16-bit floats compute in f32 and round their result (ir/uop.h). Where the next operation stands in the
// same kernel the rounding is left out: its value is read from the register it was computed in, so that a LayerNorm of
// seven nodes neither overflows nor loses the digits that f16 has not. What is rounded, and how often:
//   - what is stored: a stage, an output, a loop's value. But a statistic that a reduction makes of each of its rows (a
//     mean, a variance) is stored in f32, since it is small beside the row and may be beyond f16;
//   - what a comparison, a rounding to integers, a cast to another type or a bitcast reads;
//   - both sides of a cast that the traced graph itself has (Op::Rounded, from graph.proto's CAST with axes [1]).
// So results may be more exact than those of an execution that rounds after every node, never less.
#pragma once
#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"

namespace hearth::passes {

// sink(stage...) behind fuse -> the same stages. No Op::Rounded is left, nor arithmetic in f16 or bf16.
absl::StatusOr<ir::UOpRef> wide_values(ir::Graph& graph, ir::UOpRef sink);

}  // namespace hearth::passes
