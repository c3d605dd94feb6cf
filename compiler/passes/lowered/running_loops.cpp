#include "compiler/passes/lowered/running_loops.h"

#include <algorithm>
#include <iterator>
#include <span>

namespace hearth::passes {

using ir::Op;
using ir::UOpRef;

static std::span<const UOpRef> loops_of(UOpRef node) {
  if (node->is(Op::Store)) return node->sources.subspan(2);
  if (node->is(Op::Reduce)) return node->sources.subspan(1);
  return {};
}

absl::flat_hash_map<UOpRef, Loops> running_loops(const std::vector<UOpRef>& order) {
  absl::flat_hash_map<UOpRef, Loops> running;
  const bool any = std::ranges::any_of(order, [](UOpRef x) { return x->is(Op::Range) && may_be_empty(x); });
  if (!any) return running;
  const auto by_id = [](UOpRef a, UOpRef b) { return a->id < b->id; };
  running[order.back()] = {};
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    Loops loops = running.at(*it);
    for (UOpRef range : loops_of(*it)) {
      if (may_be_empty(range)) loops.push_back(range);
    }
    std::ranges::sort(loops, by_id);
    for (UOpRef source : (*it)->sources) {
      auto [known, first] = running.try_emplace(source, loops);
      if (first) continue;
      Loops both;
      std::ranges::set_intersection(known->second, loops, std::back_inserter(both), by_id);
      known->second = std::move(both);
    }
  }
  return running;
}

}  // namespace hearth::passes
