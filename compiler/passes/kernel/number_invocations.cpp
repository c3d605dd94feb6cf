#include "compiler/passes/kernel/number_invocations.h"

#include <algorithm>

#include "compiler/ir/shape.h"

namespace hearth::passes {

using ir::Op;
using ir::UOpRef;

namespace {

bool is_invocation(UOpRef x) { return ir::is_range(x, ir::RangeKind::Invocation); }

// How many invocations sum one result together beside those that the store's own ranges (`digits`) tell apart. 1: there
// are none, or the invocations that share a sum are ones that the store has anyway.
std::int64_t reduced_digit(UOpRef store, const std::vector<UOpRef>& digits) {
  for (UOpRef x : toposort(store)) {
    if (!x->is(Op::Reduce)) continue;
    const auto range = std::find_if(x->sources.begin() + 1, x->sources.end(), is_invocation);
    if (range == x->sources.end()) continue;
    const std::vector<UOpRef> below = toposort(x);
    std::int64_t results = 1, stored = 1;
    for (UOpRef digit : digits) {
      const std::int64_t size = digit->source(0)->int_value();
      stored *= size;
      if (std::ranges::find(below, digit) != below.end()) results *= size;
    }
    // A row sum: the workgroup stores the row itself, so the invocations that share the sum are the ones that store it.
    // There are as many of them as the store's ranges on which the sum does not depend have values.
    const std::int64_t size = (*range)->source(0)->int_value();
    if (results > 1 && results * size != stored) return size;
  }
  return 1;
}

UOpRef with_one_number(ir::Graph& g, UOpRef store, std::uint32_t axis) {
  std::vector<UOpRef> digits, sources = {nullptr, nullptr};
  std::int64_t stored = 1;
  for (std::size_t i = 2; i < store->sources.size(); ++i) {
    UOpRef range = store->source(i);
    if (!is_invocation(range)) {
      sources.push_back(range);
      continue;
    }
    digits.push_back(range);
    stored *= range->source(0)->int_value();
  }
  const std::int64_t size = stored * reduced_digit(store, digits);
  if (digits.empty() || (digits.size() < 2 && size == stored)) return store;
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
  if (stored < size) {  // by those with the first share of the sum
    std::vector<UOpRef> place(sources[0]->sources.begin(), sources[0]->sources.end());
    place.back() = ir::fold_and(g, place.back(), ir::fold_lt(g, number, g.index(stored)));
    sources[0] = g.with_sources(sources[0], place);
  }
  return g.with_sources(store, sources);
}

}  // namespace

UOpRef number_invocations(ir::Graph& g, UOpRef kernel) {
  const std::uint32_t axis = ir::next_axis(kernel);
  std::vector<UOpRef> stores;
  for (UOpRef store : kernel->sources) stores.push_back(with_one_number(g, store, axis));
  return g.make(Op::Sink, kernel->dtype, stores, kernel->payload);
}

}  // namespace hearth::passes
