// Mutants of traced graphs: one to four fields of a valid graph changed, as a broken or hostile client would send it.
// Deterministic: the seed says all.
//
//   v1::Graph mutant = mutated(random_graph(seed).graph, seed);
#pragma once
#include <cstdint>

#include "hearth/v1/graph.pb.h"

namespace hearth::test {

v1::Graph mutated(v1::Graph graph, std::uint64_t seed);

}  // namespace hearth::test
