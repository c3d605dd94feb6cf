// number_invocations: where a store divides several axes between the invocations of a workgroup, they become the digits
// of the invocation's number, the last axis its lowest: neighbours along it are neighbours in the workgroup. Where a
// result's reduction is divided, too, its share is the highest digit, and those with the first share store.
#pragma once
#include "compiler/ir/graph.h"

namespace hearth::passes {

ir::UOpRef number_invocations(ir::Graph& graph, ir::UOpRef kernel);

}  // namespace hearth::passes
