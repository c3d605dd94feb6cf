#include "compiler/passes/unify_ranges.h"

#include <unordered_map>
#include <vector>

namespace hearth::passes {

using ir::Op;
using ir::UOpRef;

UOpRef unify_ranges(ir::Graph& g, UOpRef kernel) {
  const std::vector<UOpRef> order = toposort(kernel);
  std::unordered_map<std::uint32_t, UOpRef> closed;  // axis -> the range that a loop is made of
  for (UOpRef x : order) {
    const std::size_t first = x->is(Op::Store) ? 2 : x->is(Op::Reduce) || x->is(Op::Stage) ? 1 : x->sources.size();
    for (std::size_t i = first; i < x->sources.size(); ++i)
      closed.emplace(x->source(i)->as<ir::RangeInfo>().axis, x->source(i));
  }
  std::vector<std::pair<UOpRef, UOpRef>> map;
  for (UOpRef x : order) {
    if (!x->is(Op::Range)) continue;
    auto own = closed.find(x->as<ir::RangeInfo>().axis);
    if (own != closed.end() && own->second != x && own->second->as<ir::RangeInfo>() == x->as<ir::RangeInfo>())
      map.emplace_back(x, own->second);
  }
  return map.empty() ? kernel : substitute(g, kernel, map);
}

}  // namespace hearth::passes
