#include "compiler/passes/lowered/contract.h"

#include "base/status_macros.h"
#include "compiler/ir/shape.h"
#include "compiler/rules/rules.h"
#include "compiler/schedule/matrix_units.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::RangeKind;
using ir::UOpRef;

// The only range of kind Lanes below `x`; null: none. `*several`: more than one.
UOpRef lanes_below(UOpRef x, bool* several) {
  UOpRef found = nullptr;
  for (UOpRef below : toposort(x)) {
    if (!is_range(below, RangeKind::Lanes)) continue;
    *several |= found != nullptr;
    found = below;
  }
  return found;
}

}  // namespace

absl::StatusOr<std::optional<Contraction>> contract(ir::Graph& g, UOpRef reduce, std::uint32_t next_axis) {
  UOpRef group = nullptr;
  for (std::size_t i = 1; i < reduce->sources.size(); ++i) {
    if (!is_range(reduce->source(i), RangeKind::Dot)) continue;
    if (group) return std::nullopt;
    group = reduce->source(i);
  }
  const std::optional<schedule::Product> product = group ? schedule::narrow_product(reduce) : std::nullopt;
  if (!product) return std::nullopt;
  bool several = false;
  Contraction c;
  c.a = product->a, c.b = product->b;
  if (lanes_below(c.a, &several)) std::swap(c.a, c.b);
  c.lanes = lanes_below(c.b, &several);
  if (several || !c.lanes || lanes_below(c.a, &several)) return std::nullopt;

  const std::int64_t q = group->source(0)->int_value(), n = c.lanes->source(0)->int_value();
  c.info = {1, static_cast<std::uint16_t>(n), static_cast<std::uint16_t>(q), static_cast<std::uint16_t>(q)};
  c.a_lanes = g.range(g.index(q), next_axis, RangeKind::Lanes);
  c.b_lanes = g.range(g.index(n * q), next_axis + 1, RangeKind::Lanes);
  const std::pair<UOpRef, UOpRef> a_map[] = {{group, c.a_lanes}};
  const std::pair<UOpRef, UOpRef> b_map[] = {{c.lanes, g.binary(Op::FloorDiv, c.b_lanes, g.index(q))},
                                             {group, g.binary(Op::FloorMod, c.b_lanes, g.index(q))}};
  HEARTH_ASSIGN_OR_RETURN(auto a, rules::simplify(g, substitute(g, c.a, a_map)));
  HEARTH_ASSIGN_OR_RETURN(auto b, rules::simplify(g, substitute(g, c.b, b_map)));
  c.a = a, c.b = b;
  return c;
}

}  // namespace hearth::passes
