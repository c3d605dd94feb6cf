// Mutants of traced graphs: one to three fields of a valid graph changed, as a broken or hostile client would send it;
// every fourth only gets other sizes, most of which are legal.
// Deterministic: the seed says all.
//
//   v1::Graph mutant = mutated(random_graph(seed).graph, seed);
#pragma once
#include <cstdint>

#include "hearth/v1/graph.pb.h"

namespace hearth::test {

v1::Graph mutated(v1::Graph graph, std::uint64_t seed);

}  // namespace hearth::test
