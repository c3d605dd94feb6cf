// Which loops are known to run where a node of a kernel is needed.
#pragma once
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "compiler/ir/graph.h"

namespace hearth::passes {

using Loops = std::vector<ir::UOpRef>;  // sorted by id

// By node: the loops that may be empty and that run whenever the node's value is needed, as guard_loads has it: those
// around every use of it. `order` is a kernel's toposort; nothing when no loop of the kernel may be empty.
absl::flat_hash_map<ir::UOpRef, Loops> running_loops(const std::vector<ir::UOpRef>& order);

}  // namespace hearth::passes
