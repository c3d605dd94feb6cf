// place_barriers: the barriers that copies in shared memory need: between what invocations store there and what they
// load, in this round of a loop and from one round to the next. Each stands in front of the outermost loop that it can
// stand in front of, so that it runs as rarely as possible.
#pragma once
#include <span>
#include <vector>

#include "compiler/ir/graph.h"

namespace hearth::passes {

// `body`: linear (linearize.h). `shared`: memory that several invocations use and whose accesses have no barriers yet.
std::vector<ir::UOpRef> place_barriers(ir::Graph& graph, std::vector<ir::UOpRef> body,
                                       std::span<const ir::UOpRef> shared);

}  // namespace hearth::passes
