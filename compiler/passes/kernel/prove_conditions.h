// prove_conditions: comparisons of lengths that are not known, where the loops decide them, become constants.
//
// simplify decides what bounds of numbers decide: within 8 * n columns, four times a tile and three more is inside of
// the image for every n, but no number says so. What remains is written alike (x + 1 < n + 1 as x < n), so that a value
// that is zero outside of the image and a load that is off there have one condition.
#pragma once
#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"

namespace hearth::passes {

// sink(store(index(param, position, gate), value, ranges...)...) -> the same values, simplified. A kernel without
// variables stays as it is.
absl::StatusOr<ir::UOpRef> prove_conditions(ir::Graph& graph, ir::UOpRef kernel);

}  // namespace hearth::passes
