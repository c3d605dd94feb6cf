// TracedGraph: what was recorded, ready to be prepared as often as one likes: immutable, cheap to copy, thread-safe.
//
//   absl::StatusOr<TracedGraph> traced = traced_graph({{"y", relu(matmul(x, w))}});
//   std::cout << traced->summary();
//   absl::StatusOr<PreparedPlan> plan = prepare(*traced);
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "hearth/tensor.h"

#pragma GCC visibility push(default)
namespace hearth::client {

// Results by the names that a plan gives them.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

struct EncodedGraph;  // client/trace/encoded_graph.h

class TracedGraph {
 public:
  TracedGraph();  // of nothing
  explicit TracedGraph(EncodedGraph graph);

  // Text for people: leaves, then the ops that were called ("linear", "softmax") with their operands, results, dtypes,
  // shapes and where they were called. `verbose`: the primitive ops that those are made of instead.
  std::string summary(bool verbose = false) const;
  const EncodedGraph& encoded() const { return *encoded_; }  // for the library itself

 private:
  std::shared_ptr<const EncodedGraph> encoded_;
};

// InvalidArgument when outputs are empty or share a name, one input or parameter name means two different nodes,
// or one variable name has two bounds.
absl::StatusOr<TracedGraph> traced_graph(const NamedTensors& outputs);

// Names what is recorded while it lives, on this thread, in errors and in summaries; scopes nest, the innermost wins.
class ScopedLocation {
 public:
  // With `instead_of_lines` errors name no C++ line beside it, as a binding of another language wants them.
  explicit ScopedLocation(std::string text, bool instead_of_lines = false);
  ~ScopedLocation();
  ScopedLocation(const ScopedLocation&) = delete;
  ScopedLocation& operator=(const ScopedLocation&) = delete;
  static std::string_view current();  // empty when none is set
  static bool hides_lines();

 private:
  std::string text_;
  bool instead_of_lines_;
  ScopedLocation* previous_;
};

}  // namespace hearth::client
#pragma GCC visibility pop
