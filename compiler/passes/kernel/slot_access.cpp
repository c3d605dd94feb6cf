#include "compiler/passes/kernel/slot_access.h"

#include <algorithm>

#include "compiler/ir/affine.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::UOpRef;

// The part of a buffer that a unit keeps to when it touches `position`: all but the unit's own term must stay within
// one multiple of it, whatever the other terms depend on.
std::optional<std::int64_t> elements_of_unit(UOpRef position, UOpRef unit) {
  const ir::Affine affine = ir::to_affine(position);
  const std::int64_t elements = affine.coefficient_of(unit);
  __int128 least = affine.constant, most = affine.constant;
  for (const ir::AffineTerm& term : affine.terms) {
    if (term.atom == unit) continue;
    const __int128 at_min = static_cast<__int128>(term.coefficient) * term.atom->bounds.min;
    const __int128 at_max = static_cast<__int128>(term.coefficient) * term.atom->bounds.max;
    least += std::min(at_min, at_max);
    most += std::max(at_min, at_max);
  }
  if (elements <= 0 || least < 0 || most >= elements) return std::nullopt;
  return elements;
}

}  // namespace

std::vector<SlotAccess> slot_accesses(UOpRef kernel, std::size_t num_slots) {
  std::vector<SlotAccess> slots(num_slots);
  std::vector<bool> seen(num_slots);
  const std::vector<UOpRef> nodes = toposort(kernel);
  const auto grid = std::ranges::find_if(nodes, [](UOpRef x) { return ir::is_range(x, ir::RangeKind::Grid); });
  UOpRef unit = grid != nodes.end() ? *grid : nullptr;
  for (UOpRef x : nodes) {
    if (x->is(Op::Store) && x->source(0)->source(0)->is(Op::Param))
      slots.at(x->source(0)->source(0)->as<ir::ParamInfo>().slot).stored = true;
    if (!unit || !x->is(Op::Index) || !x->source(0)->is(Op::Param)) continue;
    const std::uint32_t slot = x->source(0)->as<ir::ParamInfo>().slot;
    const std::optional<std::int64_t> elements = elements_of_unit(x->source(1), unit);
    if (!seen.at(slot)) {
      slots[slot].unit_elements = elements;
    } else if (slots[slot].unit_elements != elements) {
      slots[slot].unit_elements.reset();
    }
    seen[slot] = true;
  }
  return slots;
}

}  // namespace hearth::passes
