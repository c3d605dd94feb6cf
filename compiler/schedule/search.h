// search: the moves of the tuner. From the opts of a flat kernel to opts one change away: a register tile with other
// rows or columns, another vector axis, lanes with or without a masked end, reductions unrolled more or less, blocks of
// another size, loops in another order, operands packed or not. The daemon climbs by them (daemon/tune/tune_search).
//
// Deterministic: the same kernel, target and opts give the same list in the same order, likely gains first. Not every
// candidate is legal; the ones that are compute the same (passes/kernel/apply_opts).
//
//   for (const std::vector<Opt>& candidate : neighbours(flat, target, {slots, may_pack, opts})) …
#pragma once
#include <vector>

#include "compiler/schedule/opts.h"
#include "compiler/target/target.h"

namespace hearth::schedule {

// Distinct, without `of.opts` itself. Without `of.may_pack` no slot is packed.
std::vector<std::vector<Opt>> neighbours(ir::UOpRef flat, const target::Target& target, const Neighbourhood& of);

}  // namespace hearth::schedule
