// canonicalize: tensor-level graph -> tensor-level graph with one way to say a thing.
// Composite ops without a kernel of their own on the target are decomposed (matmul -> expand, multiply, sum);
// chains of movement ops are merged by the movement rules.
#pragma once
#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"

namespace hearth::passes {

// sink(output...) -> sink(output...).
absl::StatusOr<ir::UOpRef> canonicalize(ir::Graph& graph, ir::UOpRef sink);

}  // namespace hearth::passes
