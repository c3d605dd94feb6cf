// The traced graph while it is recorded, and its encoding as v1::Graph. Nodes are immutable; a Tensor is a handle.
// encode_graph walks from the outputs, so only what they need is sent, in an order that depends on nothing but the
// graph: equal graphs give equal bytes. Parameters' bytes stay here. Thread-safe (no shared state).
//
//   ScopedLocation scope("node 'conv1' (Conv)");               // provenance of what is recorded below
//   absl::StatusOr<TracedGraph> traced = encode_graph({{"y", y}});
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "client/tensor/tensor.h"
#include "hearth/v1/graph.pb.h"

namespace hearth::client {

struct RecordedLoop;  // client/trace/recorded_loop.h

struct Node {
  v1::Op op = v1::OP_UNSPECIFIED;
  DType dtype = DType::kF32;
  Shape shape;  // of the result
  std::vector<Tensor> inputs;
  std::vector<std::int64_t> axes;
  std::vector<Dim> args;
  std::string data;
  std::string name;
  ParameterData parameter;                   // PARAMETER only
  std::shared_ptr<const RecordedLoop> loop;  // LOOP only; axes = [result]
  std::string provenance;                    // file:line, or the innermost ScopedLocation
  ~Node();                                   // iterative: deep graphs do not exhaust the stack
};

// Makes one checked node. Shape inference is the caller's (client/ops/*.cpp); `loc` becomes its provenance.
Tensor make_node(Node node, const Loc& loc);

// Names what is recorded while it lives, on this thread; scopes nest, the innermost wins.
class ScopedLocation {
 public:
  explicit ScopedLocation(std::string text);
  ~ScopedLocation();
  ScopedLocation(const ScopedLocation&) = delete;
  ScopedLocation& operator=(const ScopedLocation&) = delete;
  static std::string_view current();  // empty when none is set

 private:
  std::string text_;
  ScopedLocation* previous_;
};

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

struct TracedGraph {
  v1::Graph graph;
  std::map<std::string, ParameterData> parameters;  // reachable ones, by name
  std::vector<Shape> shapes;                        // of every node's value

  // Text for people: leaves, then ops with their operands, result, dtype, shape and where they come from.
  std::string summary() const;
};

// InvalidArgument when outputs are empty or share a name, one input or parameter name means two different nodes,
// or one variable name has two bounds.
absl::StatusOr<TracedGraph> encode_graph(const NamedTensors& outputs);

}  // namespace hearth::client
