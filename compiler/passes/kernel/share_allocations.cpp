#include "compiler/passes/kernel/share_allocations.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

namespace hearth::passes {
namespace {

using ir::Op;
using ir::UOpRef;

// Indices by which `store` reads `allocation`.
std::vector<UOpRef> reads_of(UOpRef store, UOpRef allocation) {
  std::vector<UOpRef> found;
  for (UOpRef x : toposort(store->source(1))) {
    if (x->is(Op::Load) && x->source(0)->source(0) == allocation) found.push_back(x->source(0));
  }
  return found;
}

// Whether every value of `range` that `store` reads is read before the store's innermost loop, `column`, begins: in
// reductions that do not move with it.
bool is_read_before(UOpRef store, UOpRef range, UOpRef column) {
  bool reduced = false;
  for (UOpRef x : toposort(store->source(1))) {
    if (!x->is(Op::Reduce) || std::find(x->sources.begin() + 1, x->sources.end(), range) == x->sources.end()) continue;
    reduced = true;
    const std::vector<UOpRef> below = toposort(x);
    if (std::ranges::find(below, column) != below.end()) return false;
  }
  return reduced;
}

// Whether `store` may overwrite `from` while it reads it.
bool works_in_place(UOpRef store, UOpRef to, UOpRef from) {
  const auto &a = to->as<ir::AllocationInfo>(), &b = from->as<ir::AllocationInfo>();
  const bool same_loops = std::ranges::equal(to->sources, from->sources);
  if (to == from || to->dtype != from->dtype || a.elements != b.elements || !same_loops) return false;
  UOpRef column = store->sources.back();
  return std::ranges::all_of(reads_of(store, from), [&](UOpRef index) {
    UOpRef at = index->source(1);
    return at == column || (at->is(Op::Range) && is_read_before(store, at, column));
  });
}

}  // namespace

UOpRef share_allocations(ir::Graph& g, UOpRef kernel, const target::Target& target) {
  if (target.unit() == target::Unit::Invocation) return kernel;
  for (std::size_t i = 0; i < kernel->sources.size(); ++i) {
    UOpRef store = kernel->source(i), target = store->source(0), to = target->source(0);
    if (!to->is(Op::Allocate) || store->sources.size() < 3 || target->source(1) != store->sources.back()) continue;
    for (UOpRef from : toposort(store->source(1))) {
      if (!from->is(Op::Allocate) || !works_in_place(store, to, from)) continue;
      const auto readers = std::ranges::count_if(kernel->sources, [&](UOpRef s) { return !reads_of(s, from).empty(); });
      if (readers != 1) continue;
      ir::AllocationInfo info = to->as<ir::AllocationInfo>();
      info.memory = from->as<ir::AllocationInfo>().memory;
      std::pair<UOpRef, UOpRef> moved[] = {{to, g.make(Op::Allocate, to->dtype, to->sources, info)}};
      kernel = substitute(g, kernel, moved);
      break;
    }
  }
  return kernel;
}

}  // namespace hearth::passes
