#include "compiler/passes/kernel/mark_grid.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "compiler/ir/shape.h"
#include "compiler/target/core_model.h"

namespace hearth::passes {
namespace {

using target::kCore;

using ir::Op;
using ir::UOpRef;

struct MarkedGrid {
  UOpRef kernel = nullptr, units = nullptr;
};

constexpr double kEven = 1.05;  // the longest share over the average

// The loop at place `depth` of every store; null when they do not share it or it is none.
UOpRef shared_loop(UOpRef kernel, std::size_t depth) {
  const std::size_t place = 2 + depth;  // behind the position and the value
  UOpRef loop = kernel->source(0)->sources.size() > place ? kernel->source(0)->source(place) : nullptr;
  if (!loop || loop->as<ir::RangeInfo>().kind != ir::RangeKind::Loop) return nullptr;
  const auto has = [&](UOpRef store) { return store->sources.size() > place && store->source(place) == loop; };
  return std::ranges::all_of(kernel->sources, has) ? loop : nullptr;
}

// Whether a turn of the outermost loop is more than a line or two of code.
bool has_loop_within(UOpRef kernel, UOpRef outer) {
  return std::ranges::any_of(toposort(kernel), [outer](UOpRef x) {
    return x != outer && (ir::is_range(x, ir::RangeKind::Loop) || ir::is_range(x, ir::RangeKind::Reduce));
  });
}

double unevenness(std::int64_t units, std::int64_t threads) {
  return static_cast<double>((units + threads - 1) / threads * threads) / static_cast<double>(units);
}

bool depends_on(UOpRef x, UOpRef loop) {
  const std::vector<UOpRef> below = toposort(x);
  return std::ranges::find(below, loop) != below.end();
}

// Whether a length belongs to the loop, or an allocation to it alone: then it stays a loop of its own.
bool has_followers(UOpRef kernel, UOpRef loop, UOpRef other) {
  return std::ranges::any_of(toposort(kernel), [&](UOpRef x) {
    const auto is_source = [x](UOpRef of) { return std::ranges::find(x->sources, of) != x->sources.end(); };
    if (x->is(Op::Allocate) && is_source(loop) && is_source(other)) return false;
    if (!x->is(Op::Allocate) && !(x->is(Op::Range) && x != loop)) return false;
    return std::ranges::any_of(x->sources, [&](UOpRef source) { return depends_on(source, loop); });
  });
}

// Whether the two loops, outermost of every store, can be one.
bool may_be_one(UOpRef kernel, UOpRef outer, UOpRef inner) {
  return !has_followers(kernel, outer, inner) && !has_followers(kernel, inner, outer);
}

// The two outermost loops as one, of n0 * n1 turns.
UOpRef with_one_loop(ir::Graph& g, UOpRef kernel, UOpRef outer, UOpRef inner) {
  UOpRef length = inner->source(0);
  UOpRef both =
      g.range(ir::fold_mul(g, outer->source(0), length), outer->as<ir::RangeInfo>().axis, ir::RangeKind::Loop);
  std::vector<std::pair<UOpRef, UOpRef>> map = {{outer, ir::fold_floordiv(g, both, length)},
                                                {inner, ir::fold_floormod(g, both, length)}};
  for (UOpRef x : toposort(kernel)) {
    if (!x->is(Op::Allocate) || !depends_on(x, outer)) continue;
    std::vector<UOpRef> loops = {both};
    std::ranges::copy_if(x->sources, std::back_inserter(loops), [&](UOpRef s) { return s != outer && s != inner; });
    map.emplace_back(x, g.make(Op::Allocate, x->dtype, loops, x->payload));
  }
  std::vector<UOpRef> stores;
  for (UOpRef store : kernel->sources) {
    std::vector<UOpRef> sources = {substitute(g, store->source(0), map), substitute(g, store->source(1), map), both};
    for (std::size_t i = 4; i < store->sources.size(); ++i) sources.push_back(substitute(g, store->source(i), map));
    stores.push_back(g.with_sources(store, sources));
  }
  return g.make(Op::Sink, kernel->dtype, stores, kernel->payload);
}

// Whether what one store writes is read or written over by another (updates at indices): in the kernel's order only.
bool has_ordered_stores(UOpRef kernel) {
  const auto is_stored = [&](UOpRef buffer) {
    return std::ranges::any_of(kernel->sources, [&](UOpRef store) { return store->source(0)->source(0) == buffer; });
  };
  const std::vector<UOpRef> nodes = toposort(kernel);
  if (std::ranges::any_of(nodes, [&](UOpRef x) { return x->is(Op::Load) && is_stored(x->source(0)->source(0)); }))
    return true;
  return std::ranges::any_of(kernel->sources,
                             [](UOpRef store) { return contains_op(store->source(0)->source(1), Op::Load); });
}

// Stores in loops of their own (what is padded is stored a part at a time, the last rows of any number one by one)
// within `outer`, which they share, or none: each unit runs a share of those loops for one turn of `outer`. Nothing
// where one store has no loop, or none is long enough.
std::optional<MarkedGrid> with_shares(ir::Graph& g, UOpRef kernel, UOpRef outer, std::int64_t threads) {
  if (has_ordered_stores(kernel)) return std::nullopt;
  const std::size_t place = outer ? 3 : 2;
  std::vector<UOpRef> divided;
  if (contains_op(kernel, Op::Allocate)) return std::nullopt;
  std::uint32_t next_axis = ir::next_axis(kernel);
  std::int64_t longest = 0;
  for (UOpRef store : kernel->sources) {
    UOpRef loop = store->sources.size() > place ? store->source(place) : nullptr;
    if (!loop || !ir::is_range(loop, ir::RangeKind::Loop)) return std::nullopt;
    if (!outer && loop->source(0)->is_const() && loop->source(0)->int_value() < threads) return std::nullopt;
    longest = std::max(longest, loop->source(0)->bounds.max);
    if (std::ranges::find(divided, loop) == divided.end()) divided.push_back(loop);
  }
  if (outer) threads = std::min(threads, longest);
  if (threads < 2 || longest < threads) return std::nullopt;
  for (UOpRef store : kernel->sources) {  // one's divided loop is no inner one of another
    for (std::size_t i = place + 1; i < store->sources.size(); ++i) {
      if (std::ranges::find(divided, store->source(i)) != divided.end()) return std::nullopt;
    }
  }
  UOpRef parts = g.index(threads), units = outer ? ir::fold_mul(g, outer->source(0), parts) : parts;
  UOpRef unit = g.range(units, next_axis++, ir::RangeKind::Grid), part = unit;
  std::vector<std::pair<UOpRef, UOpRef>> positions;
  if (outer) {
    positions.emplace_back(outer, ir::fold_floordiv(g, unit, parts));
    part = ir::fold_floormod(g, unit, parts);
  }
  std::unordered_map<UOpRef, UOpRef> shares;
  for (UOpRef loop : divided) {
    UOpRef n = substitute(g, loop->source(0), positions);
    UOpRef share = ir::fold_floordiv(g, ir::fold_add(g, n, g.index(threads - 1)), parts);
    UOpRef begin = ir::fold_mul(g, part, share), length = share;
    if (!n->is_const() || n->int_value() % threads != 0) {
      UOpRef rest = ir::fold_sub(g, n, begin);
      length = g.binary(Op::Max, g.binary(Op::Min, length, rest), g.index(0));
    }
    shares[loop] = g.range(length, loop->as<ir::RangeInfo>().axis, ir::RangeKind::Loop);
    positions.emplace_back(loop, ir::fold_add(g, begin, shares[loop]));
  }
  std::vector<UOpRef> stores;
  for (UOpRef store : kernel->sources) {
    std::vector<UOpRef> sources = {substitute(g, store->source(0), positions),
                                   substitute(g, store->source(1), positions), unit, shares.at(store->source(place))};
    for (std::size_t i = place + 1; i < store->sources.size(); ++i)
      sources.push_back(substitute(g, store->source(i), positions));
    stores.push_back(g.with_sources(store, sources));
  }
  return MarkedGrid{g.make(Op::Sink, kernel->dtype, stores, kernel->payload), units};
}

// The kernel with its outermost loop as the grid.
MarkedGrid with_grid(ir::Graph& g, UOpRef kernel, UOpRef outer) {
  UOpRef units = outer->source(0);
  const std::pair<UOpRef, UOpRef> map[] = {
      {outer, g.range(units, outer->as<ir::RangeInfo>().axis, ir::RangeKind::Grid)}};
  return {substitute(g, kernel, map), units};
}

MarkedGrid with_invocations(ir::Graph& g, UOpRef kernel) {
  UOpRef outer = shared_loop(kernel, 0);
  if (!outer) return {kernel, g.index(1)};
  while (UOpRef inner = shared_loop(kernel, 1)) {
    const std::vector<UOpRef> nodes = toposort(kernel);
    const bool repeats =
        std::ranges::any_of(nodes, [inner](UOpRef x) { return x->is(Op::Reduce) && !depends_on(x, inner); });
    if (repeats || !may_be_one(kernel, outer, inner)) break;
    kernel = with_one_loop(g, kernel, outer, inner);
    outer = shared_loop(kernel, 0);
  }
  return with_grid(g, kernel, outer);
}

MarkedGrid marked(ir::Graph& graph, UOpRef kernel, const target::Target& target, const Kernel& out) {
  const double num_ops = out.num_ops, work = out.work;
  if (target.unit() == target::Unit::Invocation) return with_invocations(graph, kernel);
  UOpRef outer = shared_loop(kernel, 0);
  const std::int64_t threads = std::max<std::int64_t>(1, target.threads());
  // Not copies: what they read lies in one core's cache, and reading it from another one's takes longer.
  if (!outer && num_ops >= kCore.work_worth_dividing && threads > 1 && kernel->sources.size() > 1) {
    if (std::optional<MarkedGrid> shares = with_shares(graph, kernel, nullptr, threads)) return *shares;
  }
  const bool is_divided = work >= kCore.work_worth_dividing || (threads > 1 && has_loop_within(kernel, outer));
  if (!outer || !is_divided || outer->source(0)->bounds.max < 2) return {kernel, graph.index(1)};
  bool is_even = false;  // at the least lengths that variables may have
  while (work >= kCore.work_worth_dividing) {
    const ir::Bounds& turns = outer->source(0)->bounds;
    const std::int64_t least = std::max<std::int64_t>(1, turns.min);
    is_even = unevenness(least, threads) <= kEven;
    UOpRef inner = shared_loop(kernel, 1);
    if (is_even || !inner || inner->source(0)->bounds.min < 1 || inner->source(0)->bounds.max < 2) break;
    const std::int64_t more = inner->source(0)->bounds.max;
    const double most_units = static_cast<double>(turns.max) * static_cast<double>(more);
    if (unevenness(least * more, threads) >= unevenness(least, threads) || work / most_units < kCore.work_of_a_unit ||
        !may_be_one(kernel, outer, inner))
      break;
    kernel = with_one_loop(graph, kernel, outer, inner);
    outer = shared_loop(kernel, 0);
  }
  const double turns = static_cast<double>(outer->source(0)->bounds.max);
  const bool has_shares = !outer->source(0)->is_const() && !is_even && !shared_loop(kernel, 1) &&
                          num_ops / turns / static_cast<double>(threads) >= kCore.work_of_a_unit;
  if (has_shares) {
    if (std::optional<MarkedGrid> shares = with_shares(graph, kernel, outer, threads)) return *shares;
  }
  return with_grid(graph, kernel, outer);
}

}  // namespace

UOpRef mark_grid(ir::Graph& graph, UOpRef kernel, const target::Target& target, Kernel& out) {
  const MarkedGrid grid = marked(graph, kernel, target, out);
  out.grid = grid.units;
  for (UOpRef x : toposort(grid.kernel)) {
    if (ir::is_range(x, ir::RangeKind::Invocation))
      out.workgroup = std::max(out.workgroup, static_cast<std::uint32_t>(x->source(0)->int_value()));
  }
  return grid.kernel;
}

}  // namespace hearth::passes
