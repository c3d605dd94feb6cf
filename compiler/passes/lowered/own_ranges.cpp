#include "compiler/passes/lowered/own_ranges.h"

#include <algorithm>
#include <utility>

namespace hearth::passes {

using ir::Op;
using ir::UOpRef;

UOpRef with_own_ranges(ir::Graph& g, UOpRef kernel, const std::vector<UOpRef>& loops) {
  std::uint32_t next_axis = ir::next_axis(kernel);
  std::vector<std::pair<UOpRef, UOpRef>> ranges, copies;
  const std::size_t first = loops[0]->is(Op::Store) ? 2 : 1;
  for (std::size_t i = first; i < loops[0]->sources.size(); ++i) {
    UOpRef r = loops[0]->source(i), size = substitute(g, r->source(0), ranges);
    if (ir::is_range(r, ir::RangeKind::Grid)) continue;  // outermost of all stores: the rest is told apart below it
    ranges.emplace_back(r,
                        g.make(Op::Range, r->dtype, {size}, ir::RangeInfo{next_axis++, r->as<ir::RangeInfo>().kind}));
  }
  for (UOpRef x : loops) {
    if (x->op == loops[0]->op && std::ranges::equal(x->sources.subspan(first), loops[0]->sources.subspan(first)))
      copies.emplace_back(x, substitute(g, x, ranges));
  }
  return substitute(g, kernel, copies);
}

}  // namespace hearth::passes
