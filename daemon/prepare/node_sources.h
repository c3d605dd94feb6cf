// NodeSources: where the nodes of one caller's graph come from, for errors of a build that callers share.
//
// What a worker gets has no provenance: who joins another user's build must not read that user's paths in its error. So
// each caller's own are put into the error that it gets. Immutable; thread-safe. Example:
//   NodeSources sources(request.graph());
//   sources.name(InvalidArgumentError("node 2 (ADD): ..."));   // "node 2 (ADD) from model.py:12: ..."
#pragma once
#include <absl/status/status.h>

#include <cstdint>
#include <map>
#include <string>

#include "hearth/v1/graph.pb.h"

namespace hearth::daemon {

class NodeSources {
 public:
  explicit NodeSources(const v1::Graph& graph);

  // The same status, its message with " from SOURCE" behind the nodes that it begins with: of the graph, and where that
  // is a loop, of its body.
  absl::Status name(const absl::Status& status) const;

 private:
  using Texts = std::map<std::uint32_t, std::string>;

  Texts graph_;
  std::map<std::uint32_t, Texts> bodies_;  // by the loop's node
};

}  // namespace hearth::daemon
