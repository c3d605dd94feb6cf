#include "compiler/passes/kernel/number_invocations.h"

#include "compiler/ir/shape.h"

namespace hearth::passes {

using ir::Op;
using ir::UOpRef;

static UOpRef with_one_number(ir::Graph& g, UOpRef store, std::uint32_t axis) {
  std::vector<UOpRef> digits, sources = {nullptr, nullptr};
  std::int64_t size = 1;
  for (std::size_t i = 2; i < store->sources.size(); ++i) {
    UOpRef range = store->source(i);
    if (!ir::is_range(range, ir::RangeKind::Invocation)) {
      sources.push_back(range);
      continue;
    }
    digits.push_back(range);
    size *= range->source(0)->int_value();
  }
  if (digits.size() < 2) return store;
  UOpRef number = g.range(g.index(size), axis, ir::RangeKind::Invocation);
  sources.push_back(number);
  std::vector<std::pair<UOpRef, UOpRef>> map;
  std::int64_t stride = 1;
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
    UOpRef value = ir::fold_floordiv(g, number, g.index(stride));
    stride *= (*digit)->source(0)->int_value();
    if (stride < size) value = ir::fold_floormod(g, value, (*digit)->source(0));
    map.emplace_back(*digit, value);
  }
  for (std::size_t i = 0; i < 2; ++i) sources[i] = substitute(g, store->source(i), map);
  return g.with_sources(store, sources);
}

UOpRef number_invocations(ir::Graph& g, UOpRef kernel) {
  const std::uint32_t axis = ir::next_axis(kernel);
  std::vector<UOpRef> stores;
  for (UOpRef store : kernel->sources) stores.push_back(with_one_number(g, store, axis));
  return g.make(Op::Sink, kernel->dtype, stores, kernel->payload);
}

}  // namespace hearth::passes
