// lower_index: the unbounded `index` type becomes i64; import proved that nothing leaves it.
#pragma once
#include "compiler/ir/graph.h"

namespace hearth::passes {

ir::UOpRef lower_index(ir::Graph& graph, ir::UOpRef root);

}  // namespace hearth::passes
