#include "compiler/passes/stages.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"

namespace hearth::passes {

using ir::Op;
using ir::UOpRef;

std::vector<UOpRef> nodes_below(std::span<const UOpRef> roots) {
  std::vector<UOpRef> order;
  absl::flat_hash_set<UOpRef> seen;
  struct Frame {
    UOpRef node;
    std::size_t next;
  };
  std::vector<Frame> stack;
  for (UOpRef root : roots) {
    if (!seen.insert(root).second) continue;
    stack.push_back({root, 0});
    while (!stack.empty()) {
      Frame& frame = stack.back();
      if (frame.next < frame.node->sources.size()) {
        UOpRef s = frame.node->source(frame.next++);
        if (!s->is(Op::Stage) && seen.insert(s).second) stack.push_back({s, 0});
      } else {
        order.push_back(frame.node);
        stack.pop_back();
      }
    }
  }
  return order;
}

std::vector<UOpRef> free_ranges(const std::vector<UOpRef>& roots) {
  std::vector<UOpRef> found = nodes_below(roots);
  std::erase_if(found, [](UOpRef x) { return !x->is(Op::Range); });
  return found;
}

double extent(UOpRef range) { return static_cast<double>(std::max<std::int64_t>(range->source(0)->bounds.max, 1)); }
double extent(const std::vector<UOpRef>& ranges) {
  double n = 1;
  for (UOpRef r : ranges) n *= extent(r);
  return n;
}

std::vector<UOpRef> stages_in_order(UOpRef sink) {
  std::vector<UOpRef> stages;
  for (UOpRef x : toposort(sink)) {
    if (x->is(Op::Stage)) stages.push_back(x);
  }
  return stages;
}

std::vector<UOpRef> stage_body(UOpRef stage) { return nodes_below(stage->sources); }

}  // namespace hearth::passes
