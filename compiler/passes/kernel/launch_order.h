// launch_order: stages in the order in which their kernels run, where bools decide which of them do (ranged/choices).
#pragma once
#include <vector>

#include "absl/functional/function_ref.h"
#include "compiler/ir/graph.h"

namespace hearth::passes {

// `stages` in their order, but each after those that it reads and those whose bools decide if it runs. `runs_if` gives
// what ChoicePart::runs_if says of a stage's kernels.
std::vector<ir::UOpRef> launch_order(ir::Graph& graph, std::vector<ir::UOpRef> stages,
                                     absl::FunctionRef<std::vector<ir::UOpRef>(ir::UOpRef stage)> runs_if);

}  // namespace hearth::passes
