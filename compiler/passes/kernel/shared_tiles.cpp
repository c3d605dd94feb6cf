#include "compiler/passes/kernel/shared_tiles.h"

#include <algorithm>

#include "compiler/ir/rebuild.h"
#include "compiler/passes/kernel/workgroup_reduction.h"
#include "compiler/rules/rules.h"

namespace hearth::passes {

using ir::Op;
using ir::UOpRef;
using schedule::Opt;

absl::StatusOr<UOpRef> share_tiles(ir::Graph& g, UOpRef kernel, const std::vector<Opt>& opts) {
  const auto opt = std::ranges::find(opts, Opt::Kind::Shared, &Opt::kind);
  if (opt == opts.end() || contains_op(kernel, Op::Allocate)) return kernel;
  FreshAxes axes(g, kernel);
  const auto found = divided_reduction(axes, kernel, opt->axis, opt->amount, /*adds_nothing=*/false);
  if (!found || found->tile.invocations < 2) return kernel;
  OperandCopies copies(axes, found->tile);
  std::int64_t reads = 1;  // by all invocations for a tile
  for (UOpRef range : found->tile.within) reads *= std::max<std::int64_t>(1, range->source(0)->bounds.max);
  std::unordered_map<UOpRef, UOpRef> replaced;  // a load -> the one of its copy
  for (UOpRef x : toposort(found->divided->source(0))) {
    const std::optional<std::vector<UOpRef>> ranges = copies.ranges_of(x);
    if (!ranges || ranges->empty() || reads < 2 * elements_of(*ranges)) continue;
    Coordinates itself;
    for (UOpRef range : *ranges) itself[range] = range;
    replaced[x] = copies.add(x, *ranges, OperandCopies::Order::DepthFirst).load(g, itself);
  }
  if (replaced.empty()) return kernel;
  UOpRef reads_copies = rebuild(g, found->divided, [&](UOpRef x, ir::Sources&) -> UOpRef {
    const auto copy = replaced.find(x);
    return copy == replaced.end() ? nullptr : copy->second;
  });
  std::vector<UOpRef> stores = copies.stores();
  const std::pair<UOpRef, UOpRef> map[] = {{found->reduce, reads_copies}};
  stores.push_back(substitute(g, kernel->source(0), map));
  return rules::simplify(g, g.make(Op::Sink, kernel->dtype, stores, kernel->payload));
}

}  // namespace hearth::passes
