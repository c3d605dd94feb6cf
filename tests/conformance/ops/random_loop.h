// A random graph as the body of a loop: some of its leaves are slices, others the same in every step; the greatest
// value of all steps and what it was a step ago are carried, all steps' values are stacked.
//
//   std::string what = find_disagreement(random_loop(seed), target);
#pragma once
#include "tests/conformance/ops/random_graph.h"

namespace hearth::conformance {

RandomGraph random_loop(std::uint64_t seed);

}  // namespace hearth::conformance
