#include "compiler/passes/lowered/guard_loads.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "compiler/ir/rebuild.h"
#include "compiler/ir/shape.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::UOpRef;

struct ById {
  bool operator()(UOpRef a, UOpRef b) const { return a->id < b->id; }
};
using LoopSet = std::set<UOpRef, ById>;  // all of them run

// When a node's value is needed: one of the alternatives. An empty alternative: always.
struct Condition {
  std::vector<LoopSet> any;
  bool always() const {
    return std::ranges::any_of(any, [](const LoopSet& l) { return l.empty(); });
  }
  void add(const LoopSet& loops) {
    if (std::ranges::find(any, loops) == any.end()) any.push_back(loops);
  }
};

// By range: the loops around its own loop wherever that stands, as linearize places it. A reduction stands inside of
// the loops that it depends on; reductions and stores that share a range may get loops of their own, so what counts is
// around all of them.
std::unordered_map<UOpRef, LoopSet> loops_around(const std::vector<UOpRef>& order,
                                                 const std::unordered_map<UOpRef, LoopSet>& depends) {
  std::unordered_map<UOpRef, LoopSet> around;
  for (UOpRef x : order) {
    if (!x->is(Op::Reduce) && !x->is(Op::Store)) continue;
    LoopSet outside;
    if (x->is(Op::Reduce)) outside = depends.at(x);
    for (std::size_t i = x->is(Op::Store) ? 2 : 1; i < x->sources.size(); ++i) {
      UOpRef range = x->source(i);
      if (!ir::is_loop(range)) continue;  // lanes and copies, where expand has not made them yet
      const auto [known, first] = around.try_emplace(range, outside);
      if (!first) std::erase_if(known->second, [&](UOpRef loop) { return !outside.contains(loop); });
      outside.insert(range);
    }
  }
  return around;
}

// And what is around those, and so on.
LoopSet with_loops_around(const LoopSet& loops, const std::unordered_map<UOpRef, LoopSet>& around) {
  LoopSet all;
  std::vector<UOpRef> left(loops.begin(), loops.end());
  while (!left.empty()) {
    UOpRef loop = left.back();
    left.pop_back();
    if (!all.insert(loop).second) continue;
    if (const auto found = around.find(loop); found != around.end())
      left.insert(left.end(), found->second.begin(), found->second.end());
  }
  return all;
}

}  // namespace

UOpRef guard_loads(ir::Graph& g, UOpRef kernel) {
  std::vector<UOpRef> order = toposort(kernel);
  bool any_empty = std::ranges::any_of(order, [](UOpRef x) { return x->is(Op::Range) && may_be_empty(x); });
  if (!any_empty) return kernel;

  std::unordered_map<UOpRef, LoopSet> depends;
  for (UOpRef x : order) {
    LoopSet& d = depends[x];
    if (x->is(Op::Range)) d.insert(x);
    for (UOpRef s : x->sources) d.insert(depends.at(s).begin(), depends.at(s).end());
    if (x->is(Op::Reduce)) {
      for (std::size_t i = 1; i < x->sources.size(); ++i) d.erase(x->source(i));
    }
  }
  std::unordered_map<UOpRef, Condition> needed;
  needed[kernel].add({});
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    UOpRef x = *it;
    Condition condition = needed[x];
    if (condition.always()) condition.any = {LoopSet{}};
    LoopSet own;
    if (x->is(Op::Reduce) || x->is(Op::Store)) {
      for (std::size_t i = x->is(Op::Store) ? 2 : 1; i < x->sources.size(); ++i) {
        if (may_be_empty(x->source(i))) own.insert(x->source(i));
      }
    }
    for (UOpRef s : x->sources) {
      for (LoopSet loops : condition.any) {
        loops.insert(own.begin(), own.end());
        needed[s].add(loops);
      }
    }
  }

  const std::unordered_map<UOpRef, LoopSet> around = loops_around(order, depends);
  return rebuild(g, kernel, [&](UOpRef x, ir::Sources& sources) -> UOpRef {
    Condition guard;
    if (x->is(Op::Load)) {
      const LoopSet inside = with_loops_around(depends.at(x), around);  // where it stands, they run
      for (LoopSet loops : needed[x].any) {
        for (UOpRef r : inside) loops.erase(r);
        guard.add(loops);
      }
    }
    if (x->is(Op::Load) && !guard.always()) {
      UOpRef runs = g.boolean(false);
      for (const LoopSet& loops : guard.any) {
        UOpRef all = g.boolean(true);
        for (UOpRef r : loops) all = ir::fold_and(g, all, ir::fold_lt(g, g.constant(r->dtype, 0), r->source(0)));
        runs = runs == g.boolean(false) ? all : g.binary(Op::Or, runs, all);
      }
      UOpRef index = sources[0];
      UOpRef gate = index->sources.back();
      if (gate->dtype.lanes > 1) runs = g.make(Op::Broadcast, gate->dtype, {runs});
      std::vector<UOpRef> parts(index->sources.begin(), index->sources.end());
      parts.back() = gate->is_const() && gate->int_value() ? runs : g.logical_and(runs, gate);
      sources[0] = g.with_sources(index, parts);
    }
    return nullptr;
  });
}

}  // namespace hearth::passes
