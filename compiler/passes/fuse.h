// fuse: takes back stages whose value is cheaper to compute where it is used than to store and load.
//
// Cost model (see fuse.cpp): an elementwise stage is computed in place when that repeats no work or little of it; a
// reduction is computed in place when every element is still computed exactly once and its loop can stand outside of
// the consumer's remaining loops (epilogues, softmax and layernorm as one row kernel).
#pragma once
#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"

namespace hearth::passes {

// sink(stage...) -> sink(stage...) with fewer stages.
absl::StatusOr<ir::UOpRef> fuse(ir::Graph& graph, ir::UOpRef sink);

// Stages below `sink` in dependency order: each after those it reads.
std::vector<ir::UOpRef> stages_in_order(ir::UOpRef sink);

// Nodes of one stage's value, not entering the stages it reads; sources before users.
std::vector<ir::UOpRef> stage_body(ir::UOpRef stage);

}  // namespace hearth::passes
