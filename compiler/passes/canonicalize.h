// canonicalize: tensor-level graph -> tensor-level graph with one way to say a thing.
// Composite ops without a kernel of their own on the target are decomposed (matmul -> expand, multiply, sum);
// chains of movement ops are merged by the movement rules.
#pragma once
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"

namespace hearth::passes {

absl::StatusOr<std::vector<ir::UOpRef>> canonicalize(ir::Graph& graph, const std::vector<ir::UOpRef>& outputs);

}  // namespace hearth::passes
