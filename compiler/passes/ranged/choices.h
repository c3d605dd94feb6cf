// choices: stages whose value is one of two, as the replay's variables or a bool in memory say (StageInfo.choice), and
// which stages are then needed.
//
// A choice is where(condition, a, b): a and b are kernels of their own that store to one buffer. Where variables decide,
// a launch has no units where its part is not the one that is wanted; where a bool does, it is not run
// (v1::LaunchCondition). What only one part reads is launched with it.
#pragma once
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"

namespace hearth::passes {

struct ChoicePart {
  ir::UOpRef stage = nullptr;  // of the part alone: the same loops
  // Index over variables and loads of single bools: 1 where a replay runs it, else 0; null: always.
  ir::UOpRef runs_if = nullptr;
};

// True for the load of the only element of a buffer or stage of bools.
bool is_stored_bool(ir::UOpRef condition);

// The parts of any stage; a stage that chooses nothing is one part, which always runs.
std::vector<ChoicePart> parts_of(ir::Graph& graph, ir::UOpRef stage);

// What `runs_if` says of variables (null: nothing), and which values bools have to have: the buffer or stage of each.
struct RunsIf {
  ir::UOpRef units = nullptr;
  std::vector<std::pair<ir::UOpRef, bool>> bools = {};
};
RunsIf taken_apart(ir::Graph& graph, ir::UOpRef runs_if);

// Both conditions, either of which may be null.
ir::UOpRef both_run(ir::Graph& graph, ir::UOpRef a, ir::UOpRef b);

// By stage below `sink`: runs_if of what reads it, where all that does runs by one condition; null: always.
std::unordered_map<ir::UOpRef, ir::UOpRef> needed_if(ir::Graph& graph, ir::UOpRef sink);

}  // namespace hearth::passes
