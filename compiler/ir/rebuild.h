// rebuild: a graph made again from its leaves up, with some of its nodes replaced on the way.
//
//   UOpRef doubled = rebuild(g, root, [&](UOpRef x, Sources& sources) -> UOpRef {
//     if (x->is(Op::Load)) return g.add(g.with_sources(x, sources), g.with_sources(x, sources));
//     return nullptr;  // as it is
//   });
#pragma once
#include <absl/container/flat_hash_map.h>

#include <type_traits>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "compiler/ir/graph.h"

namespace hearth::ir {

using Sources = std::vector<UOpRef>;

// What takes the place of `root` after replace(node, sources) was called for every node below it, each once and after
// its sources. `sources` are what took the place of the node's own, and may be changed. A null answer stands for the
// node with `sources`. An answer may be a StatusOr: the first error ends it, and rebuild's result is a StatusOr too.
// New nodes have the provenance of the node in whose place they are.
template <class Replace>
auto rebuild(Graph& graph, UOpRef root, Replace replace) -> std::invoke_result_t<Replace&, UOpRef, Sources&> {
  const std::vector<UOpRef> nodes = toposort(root);
  absl::flat_hash_map<UOpRef, UOpRef> done(nodes.size());
  Sources sources;
  for (UOpRef node : nodes) {
    ProvenanceScope scope(graph, node->provenance);
    sources.clear();
    for (UOpRef s : node->sources) sources.push_back(done.at(s));
    UOpRef result = nullptr;
    if constexpr (std::is_same_v<std::invoke_result_t<Replace&, UOpRef, Sources&>, UOpRef>) {
      result = replace(node, sources);
    } else {
      HEARTH_ASSIGN_OR_RETURN(result, replace(node, sources));
    }
    done[node] = result != nullptr ? result : graph.with_sources(node, sources);
  }
  return done.at(root);
}

}  // namespace hearth::ir
