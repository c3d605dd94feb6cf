#include "compiler/passes/tensor/separate_branches.h"

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/ir/rebuild.h"
#include "compiler/ir/shape.h"
#include "compiler/target/core_model.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::UOpRef;
using target::kCore;

double elements_of(ir::ShapeCache& shapes, UOpRef x) {
  double elements = 1;
  for (UOpRef length : shapes.of(x)) elements *= static_cast<double>(length->bounds.max);
  return elements;
}

// A bool, and the value for which something is needed.
using Literal = std::pair<UOpRef, bool>;
using Literals = std::vector<Literal>;  // all of them hold; sorted

class Branches {
 public:
  Branches(ir::Graph& g, UOpRef sink) : shapes_(g), order_(ir::toposort(sink)) {
    for (UOpRef node : order_) {
      if (UOpRef condition = condition_of(node)) conditions_[node] = condition;
    }
    if (conditions_.empty()) return;
    find_demand();
    find_work();
  }

  // Wheres whose branches are worth kernels of their own, and their bools.
  void choose(std::unordered_set<UOpRef>& wheres, std::unordered_set<UOpRef>& bools) const {
    for (const auto& [where, condition] : conditions_) {
      for (const bool value : {true, false}) {
        const Literal literal{condition, value};
        const auto work = work_.find(literal);
        if (work == work_.end() || work->second < kCore.branch_work) continue;
        if (!needs(computed(where->source(value ? 1 : 2)), literal)) continue;
        wheres.insert(where);
        bools.insert(condition);
      }
    }
  }

 private:
  static bool is_view(UOpRef x) { return ir::op_class(x->op) == ir::OpClass::Movement && !x->is(Op::Pad); }

  // What a view is of.
  static UOpRef computed(UOpRef x) {
    while (is_view(x) && !x->is(Op::Cat)) x = x->source(0);
    return x;
  }

  // The one bool that decides a where; null: there is none, or it is known.
  UOpRef condition_of(UOpRef node) {
    if (!node->is(Op::Where)) return nullptr;
    UOpRef condition = node->source(0);
    while (condition->is(Op::Reshape) || condition->is(Op::Expand)) condition = condition->source(0);
    const bool is_one = std::ranges::all_of(
        shapes_.of(condition), [](UOpRef length) { return length->is_const() && length->int_value() == 1; });
    return is_one && !condition->is_const() && !condition->is(Op::Iota) ? condition : nullptr;
  }

  bool needs(UOpRef node, const Literal& literal) const {
    const auto demand = demand_.find(node);
    return demand != demand_.end() && std::ranges::binary_search(demand->second, literal);
  }

  // For which values of bools each node is needed: what all ways to the outputs agree on.
  void find_demand() {
    const auto ask = [this](UOpRef source, const Literals& wanted) {
      const auto [found, is_first] = demand_.try_emplace(source, wanted);
      if (is_first) return;
      Literals both;
      std::ranges::set_intersection(found->second, wanted, std::back_inserter(both));
      found->second = std::move(both);
    };
    for (UOpRef node : std::views::reverse(order_)) {
      const Literals own = ir::is_opaque(node) ? Literals() : demand_[node];
      const auto chooses = conditions_.find(node);
      for (std::size_t s = 0; s < node->sources.size(); ++s) {
        Literals wanted = own;
        if (chooses != conditions_.end() && s > 0) {
          const Literal literal{chooses->second, s == 1};
          wanted.insert(std::ranges::lower_bound(wanted, literal), literal);
        }
        ask(node->source(s), wanted);
      }
    }
  }

  // Operations of a replay that are needed for a bool's value alone.
  void find_work() {
    std::unordered_set<UOpRef> varying;
    for (UOpRef node : order_) {
      const bool is_input = node->is(Op::Buffer) && node->as<ir::BufferInfo>().kind == ir::BufferKind::Input;
      const bool varies = is_input || std::ranges::any_of(node->sources, [&](UOpRef s) { return varying.contains(s); });
      if (!varies) continue;
      varying.insert(node);
      double work = 0;
      if (ir::is_elementwise(node->op)) work = elements_of(shapes_, node);
      if (node->is(Op::ReduceAxis)) work = elements_of(shapes_, node->source(0));
      if (work > 0) {
        for (const Literal& literal : demand_[node]) work_[literal] += work;
      }
    }
  }

  ir::ShapeCache shapes_;
  const std::vector<UOpRef> order_;
  std::unordered_map<UOpRef, UOpRef> conditions_;  // of wheres
  std::unordered_map<UOpRef, Literals> demand_;
  std::map<Literal, double> work_;
};

}  // namespace

UOpRef separate_branches(ir::Graph& g, UOpRef sink) {
  std::unordered_set<UOpRef> wheres, bools;
  Branches(g, sink).choose(wheres, bools);
  if (wheres.empty()) return sink;
  return ir::rebuild(g, sink, [&](UOpRef node, ir::Sources& sources) -> UOpRef {
    const bool is_stored = wheres.contains(node) || (bools.contains(node) && !node->is(Op::Buffer));
    if (!is_stored) return nullptr;
    UOpRef same = g.with_sources(node, sources);
    return g.make(Op::Contiguous, same->dtype, {same});
  });
}

}  // namespace hearth::passes
