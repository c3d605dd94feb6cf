// How often the nodes of a flat kernel are evaluated: once for each combination of values of what they depend on.
#pragma once
#include <unordered_map>
#include <vector>

#include "compiler/ir/graph.h"

namespace hearth::passes {

// Node -> the ranges that it has a value for each of; a quotient floordiv(range, constant) stands for its range in a
// node that depends on it in no other way (the tile that a result is in).
using Dependence = std::unordered_map<ir::UOpRef, std::vector<ir::UOpRef>>;

// Enters `x`, whose sources are there. Of a reduction: what its body depends on; close_reduction takes out what it
// sums over.
const std::vector<ir::UOpRef>& enter(Dependence& dependence, ir::UOpRef x);
void close_reduction(Dependence& dependence, ir::UOpRef reduce);

// At the upper bounds of symbolic lengths; zero when a loop has no turn.
double evaluations(const std::vector<ir::UOpRef>& depends);

}  // namespace hearth::passes
