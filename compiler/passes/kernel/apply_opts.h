// apply_opts: splits a kernel's ranges as its opts say. Values stay the same for every opt and every size; remainders
// become loops of their own (a second store, or a second reduction that is combined with the first).
#pragma once
#include "absl/status/statusor.h"
#include "compiler/schedule/opts.h"

namespace hearth::passes {

// Axes named by an opt that are no longer there are skipped: a size of 1 leaves no loop.
absl::StatusOr<ir::UOpRef> apply_opts(ir::Graph& graph, ir::UOpRef kernel, const std::vector<schedule::Opt>& opts);

}  // namespace hearth::passes
