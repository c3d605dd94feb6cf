// guard_loads: a load that stands outside of a loop that may run zero times must not touch memory when it does.
//
// linearize hoists a load out of every loop it does not depend on. Where such a loop may be empty (a symbolic or zero
// length), the load's gate gets "the loop runs at least once"; with several users, "one of them does".
#pragma once
#include "compiler/ir/graph.h"

namespace hearth::passes {

ir::UOpRef guard_loads(ir::Graph& graph, ir::UOpRef kernel);

}  // namespace hearth::passes
