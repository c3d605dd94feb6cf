// choices: stages whose value is one of two, as the replay's variables say (StageInfo.choice), and which stages are
// then needed.
//
// A choice is where(condition of variables, a, b): a and b are kernels of their own that store to one buffer, and a
// launch has no units where its part is not the one that is wanted. What only one part reads is launched with it.
#pragma once
#include <unordered_map>
#include <vector>

#include "compiler/ir/graph.h"

namespace hearth::passes {

struct ChoicePart {
  ir::UOpRef stage = nullptr;    // of the part alone: the same loops
  ir::UOpRef runs_if = nullptr;  // index over variables: 1 where a replay runs it, else 0; null: always
};

// The parts of any stage; a stage that chooses nothing is one part, which always runs.
std::vector<ChoicePart> parts_of(ir::Graph& graph, ir::UOpRef stage);

// Both conditions, either of which may be null.
ir::UOpRef both_run(ir::Graph& graph, ir::UOpRef a, ir::UOpRef b);

// By stage below `sink`: runs_if of what reads it, where all that does runs by one condition; null: always.
std::unordered_map<ir::UOpRef, ir::UOpRef> needed_if(ir::Graph& graph, ir::UOpRef sink);

}  // namespace hearth::passes
