#include "compiler/passes/unify_ranges.h"

#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace hearth::passes {

using ir::Op;
using ir::UOpRef;

UOpRef unify_ranges(ir::Graph& g, UOpRef kernel) {
  const std::vector<UOpRef> order = toposort(kernel);
  std::unordered_set<UOpRef> closed;                  // ranges that loops are made of
  std::unordered_map<std::uint32_t, UOpRef> of_axis;  // the only one of its axis; null when there are several
  for (UOpRef x : order) {
    const std::size_t first = x->is(Op::Store) ? 2 : x->is(Op::Reduce) || x->is(Op::Stage) ? 1 : x->sources.size();
    for (std::size_t i = first; i < x->sources.size(); ++i) {
      UOpRef range = x->source(i);
      if (!closed.insert(range).second) continue;
      auto [found, added] = of_axis.emplace(range->as<ir::RangeInfo>().axis, range);
      if (!added) found->second = nullptr;  // blocks of several stores: each has its own
    }
  }
  std::vector<std::pair<UOpRef, UOpRef>> map;
  for (UOpRef x : order) {
    if (!x->is(Op::Range) || closed.contains(x)) continue;
    auto own = of_axis.find(x->as<ir::RangeInfo>().axis);
    if (own != of_axis.end() && own->second && own->second->as<ir::RangeInfo>() == x->as<ir::RangeInfo>())
      map.emplace_back(x, own->second);
  }
  return map.empty() ? kernel : substitute(g, kernel, map);
}

}  // namespace hearth::passes
