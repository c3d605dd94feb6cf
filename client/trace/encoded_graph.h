// EncodedGraph: a traced graph as it goes to the daemon. encode_graph walks from the outputs, so only what they need is
// in it, in an order that depends on nothing but the graph: equal graphs give equal bytes. Parameters' bytes stay here.
// Inside client/ and for tools. Thread-safe (no shared state).
//
//   absl::StatusOr<EncodedGraph> encoded = encode_graph({{"y", y}});
//   return TracedGraph(*std::move(encoded));
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hearth/graph.h"
#include "hearth/tensor.h"
#include "hearth/v1/graph.pb.h"

namespace hearth::client {

// The call of a public op that a node is of.
struct OpCall {
  std::string op;            // "linear"; empty: none
  std::uint64_t number = 0;  // equal for all nodes of a call
};

struct EncodedGraph {
  v1::Graph graph;
  std::map<std::string, ParameterData> parameters;  // reachable ones, by name
  std::set<std::string> unnamed;                    // of those, the ones that the encoder named
  std::vector<Shape> shapes;                        // of every node's value
  std::vector<OpCall> calls;                        // likewise
};

// InvalidArgument when outputs are empty or share a name, one input or parameter name means two different nodes,
// or one variable name has two bounds.
absl::StatusOr<EncodedGraph> encode_graph(const NamedTensors& outputs);

}  // namespace hearth::client
