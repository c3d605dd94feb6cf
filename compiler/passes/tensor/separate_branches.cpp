#include "compiler/passes/tensor/separate_branches.h"

#include <algorithm>
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
    find_varying();
  }

  // Wheres whose branches are worth kernels of their own, and their bools.
  void choose(std::unordered_set<UOpRef>& wheres, std::unordered_set<UOpRef>& bools) {
    for (const auto& [where, condition] : conditions_) {
      if (!is_worth_kernels(where->source(1), {condition, true}) &&
          !is_worth_kernels(where->source(2), {condition, false}))
        continue;
      wheres.insert(where);
      bools.insert(condition);
    }
  }

 private:
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

  // Collects the nodes whose values inputs change; the others are made once.
  void find_varying() {
    for (UOpRef node : order_) {
      const bool is_input = node->is(Op::Buffer) && node->as<ir::BufferInfo>().kind == ir::BufferKind::Input;
      if (is_input || std::ranges::any_of(node->sources, [&](UOpRef s) { return varying_.contains(s); }))
        varying_.insert(node);
    }
  }

  // Counts what makes `branch` and is needed for the bool's value alone: it is worth kernels of its own if it reduces
  // something and does enough operations. What is elementwise throughout is computed where it is chosen.
  bool is_worth_kernels(UOpRef branch, const Literal& literal) {
    double work = 0;
    bool has_reduction = false;
    std::unordered_set<UOpRef> seen;
    std::vector<UOpRef> left = {branch};
    while (!left.empty()) {
      UOpRef node = left.back();
      left.pop_back();
      if (!varying_.contains(node) || !needs(node, literal) || !seen.insert(node).second) continue;
      if (ir::is_elementwise(node->op)) work += elements_of(shapes_, node);
      if (node->is(Op::ReduceAxis)) has_reduction = true, work += elements_of(shapes_, node->source(0));
      left.insert(left.end(), node->sources.begin(), node->sources.end());
    }
    return has_reduction && work >= kCore.branch_work;
  }

  ir::ShapeCache shapes_;
  const std::vector<UOpRef> order_;
  std::unordered_map<UOpRef, UOpRef> conditions_;  // of wheres
  std::unordered_map<UOpRef, Literals> demand_;
  std::unordered_set<UOpRef> varying_;
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
