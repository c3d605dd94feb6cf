// Walks over a graph of stages (after rangeify: sink(stage...), stages reading stages).
#pragma once
#include <span>
#include <vector>

#include "compiler/ir/graph.h"

namespace hearth::passes {

// Stages below `sink` in dependency order: each after those it reads.
std::vector<ir::UOpRef> stages_in_order(ir::UOpRef sink);

// Nodes of one stage's value, not entering the stages it reads; sources before users.
std::vector<ir::UOpRef> stage_body(ir::UOpRef stage);

// Ranges below `roots`, not entering stages.
std::vector<ir::UOpRef> free_ranges(const std::vector<ir::UOpRef>& roots);

// Most turns of a range's loop, at least one; of nested ranges' loops together.
double extent(ir::UOpRef range);
double extent(const std::vector<ir::UOpRef>& ranges);

// Nodes below `roots` without entering the stages they read; sources before users.
std::vector<ir::UOpRef> nodes_below(std::span<const ir::UOpRef> roots);

}  // namespace hearth::passes
