// alternatives: one plan of several that are compiled for parts of what the graph's variables may be: a replay runs the
// launches of the one that its values belong to.
//
// Variable.ends divides a range: part k goes from the end before it (exclusive) to end k. Variable.points are values
// that have a plan of exactly their own beside that of the whole range. Of several variables every combination is
// compiled. Each alternative is the graph with narrower bounds, and goes through the whole pipeline; the merged plan
// has the buffers, kernels and launches of all of them, where a launch's grid is 0 unless the values belong to its
// alternative. Arenas lie on top of each other; what is made once of equal things by equal kernels (packed weights) is
// made once.
//
//   HEARTH_ASSIGN_OR_RETURN(std::vector<Alternative> all, alternatives_of(graph));
//   for (const Alternative& one : all) plans.push_back(lower(one.graph));
//   absl::StatusOr<v1::LoweredPlan> plan = merged(graph, all, std::move(plans));
#pragma once
#include <vector>

#include "absl/status/statusor.h"
#include "hearth/v1/graph.pb.h"
#include "hearth/v1/worker.pb.h"

namespace hearth::passes {

inline constexpr int kMaxAlternatives = 32;

struct Alternative {
  // One variable's values from `least` to `greatest` but for `without`.
  struct Part {
    std::int64_t least = 0, greatest = 0;
    std::vector<std::int64_t> without;
  };
  std::vector<Part> parts;  // one a variable
  v1::Graph graph;          // for these values; a variable of one value stands in no expression
};

// One, of the graph itself, where no variable is divided. InvalidArgument naming the variable for ends or points that
// do not ascend or lie outside of its range, and for more than kMaxAlternatives.
absl::StatusOr<std::vector<Alternative>> alternatives_of(const v1::Graph& graph);

// `plans`: one an alternative. Errors: those of importing the graph.
absl::StatusOr<v1::LoweredPlan> merged(const v1::Graph& graph, const std::vector<Alternative>& alternatives,
                                       std::vector<v1::LoweredPlan> plans);

}  // namespace hearth::passes
