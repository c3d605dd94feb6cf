// What opts of a GPU's kernel may say: those that no scheduler chose (a tuning record's, a search's) are asked here first.
#pragma once
#include <vector>

#include "absl/status/status.h"
#include "compiler/ir/graph.h"
#include "compiler/schedule/opts.h"
#include "compiler/target/target.h"

namespace hearth::schedule {

// INVALID_ARGUMENT names the first opt that is wrong: one of workgroups on a target without them, a workgroup larger than
// the target's, or one along an output axis that is no multiple of it, whose results would be wrong.
absl::Status check_workgroups(ir::UOpRef flat, const std::vector<Opt>& opts, const target::Target& target);

}  // namespace hearth::schedule
