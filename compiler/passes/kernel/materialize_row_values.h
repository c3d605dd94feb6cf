// materialize_row_values: what a row kernel would compute twice, it computes once and keeps.
//
// A kernel whose store runs along a row that it also reduces (softmax: the sum of exp, then each exp over the sum)
// contains the reduced expression a second time. When that expression is expensive (exp, log, …) and a row is small
// enough for the target's allocations, a first store writes it to an allocation, and the reduction and the last store
// read it back. Anything else is left as it is.
#pragma once
#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"

namespace hearth::passes {

// `kernel`: a flat kernel, before opts. Each of its stores is looked at by itself. `allocation_bytes`: the target's.
absl::StatusOr<ir::UOpRef> materialize_row_values(ir::Graph& graph, ir::UOpRef kernel, std::int64_t allocation_bytes);

}  // namespace hearth::passes
