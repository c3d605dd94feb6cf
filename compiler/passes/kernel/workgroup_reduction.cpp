#include "compiler/passes/kernel/workgroup_reduction.h"

#include <algorithm>

#include "compiler/passes/lowered/reduce_kind.h"
#include "compiler/schedule/matrix_units.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::RangeKind;
using ir::UOpRef;

RangeKind kind_of(UOpRef range) { return range->as<ir::RangeInfo>().kind; }

// The store's ranges into `tile`; false: it has others.
bool find_ranges(UOpRef store, OperandCopies::Tile& tile) {
  for (std::size_t i = 2; i < store->sources.size(); ++i) {
    UOpRef range = store->source(i);
    if (kind_of(range) == RangeKind::Loop) {
      tile.loops.push_back(range);
      continue;
    }
    const bool is_own = kind_of(range) == RangeKind::Invocation || kind_of(range) == RangeKind::Unroll;
    if (!is_own || !range->source(0)->is_const()) return false;
    if (kind_of(range) == RangeKind::Invocation) tile.invocations *= range->source(0)->int_value();
    tile.within.push_back(range);
  }
  return true;
}

UOpRef only_reduction(UOpRef kernel) {
  UOpRef found = nullptr;
  for (UOpRef x : toposort(kernel)) {
    if (!x->is(Op::Reduce)) continue;
    if (found) return nullptr;
    found = x;
  }
  return found;
}

}  // namespace

std::optional<WorkgroupReduction> divided_reduction(FreshAxes& axes, UOpRef kernel, std::uint32_t axis,
                                                    std::int64_t amount, bool adds_nothing) {
  ir::Graph& g = axes.graph();
  WorkgroupReduction found;
  if (kernel->sources.size() != 1 || !find_ranges(kernel->source(0), found.tile)) return std::nullopt;
  found.reduce = only_reduction(kernel);
  if (!found.reduce) return std::nullopt;
  UOpRef along = nullptr;
  for (std::size_t i = 1; i < found.reduce->sources.size(); ++i) {
    const auto& info = found.reduce->source(i)->as<ir::RangeInfo>();
    if (info.axis == axis && info.kind == RangeKind::Reduce) along = found.reduce->source(i);
  }
  if (!along || along->source(0)->bounds.max < 2) return std::nullopt;

  UOpRef size = along->source(0), position = g.index(0);
  if (!adds_nothing) amount = std::min(amount, size->bounds.max);
  UOpRef count =
      simplified_length(g, ir::fold_floordiv(g, ir::fold_add(g, size, g.index(amount - 1)), g.index(amount)));
  std::vector<UOpRef> sources = {nullptr};
  bool is_behind = false;
  for (std::size_t i = 1; i < found.reduce->sources.size(); ++i) {
    UOpRef range = found.reduce->source(i);
    if (range != along) {
      (is_behind ? found.tile.within : found.tile.tiles).push_back(range);
      sources.push_back(range);
      continue;
    }
    // Each loop is left out where it has one turn.
    is_behind = true;
    if (count != g.index(1)) {
      found.tile.tiles.push_back(axes.range(count, RangeKind::Reduce));
      sources.push_back(found.tile.tiles.back());
      position = ir::fold_mul(g, found.tile.tiles.back(), g.index(amount));
    }
    if (amount > 1) {
      found.tile.within.push_back(found.within = axes.range(g.index(amount), RangeKind::Reduce));
      sources.push_back(found.within);
      position = ir::fold_add(g, position, found.within);
    }
  }
  const std::pair<UOpRef, UOpRef> map[] = {{along, position}};
  sources[0] = substitute(g, found.reduce->source(0), map);
  if (!is_multiple(size, amount)) {
    UOpRef is_inside = ir::fold_lt(g, position, size);
    sources[0] = gated(g, sources[0], found.within, is_inside);
    if (!adds_nothing && !schedule::is_product_along(found.reduce, along)) {
      UOpRef nothing = reduce_identity(g, found.reduce->as<ir::ReduceInfo>().kind, found.reduce->dtype);
      sources[0] = g.where(is_inside, sources[0], nothing);
    }
  }
  found.divided = g.with_sources(found.reduce, sources);
  return found;
}

}  // namespace hearth::passes
