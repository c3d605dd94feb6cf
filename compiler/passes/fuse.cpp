#include "compiler/passes/fuse.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/affine.h"
#include "compiler/ir/shape.h"
#include "compiler/rules/rules.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::UOpRef;

constexpr int kCheapCost = 6;          // recompute anywhere: less than a store and a load would cost
constexpr int kRowRecomputeCost = 40;  // recompute twice within one row kernel (softmax's exp)
constexpr double kRowRecomputeFactor = 2.0;
constexpr std::size_t kMaxKernelNodes = 4000;

// Work of one evaluation, in units of about one vector instruction.
int op_cost(UOpRef x) {
  if (is_index(x->dtype) || x->dtype.scalar == ir::Scalar::Void) return 0;
  switch (x->op) {
    case Op::Exp:
    case Op::Log:
    case Op::Sin:
    case Op::Cos:
    case Op::Tanh:
    case Op::Erf:
    case Op::Sigmoid:
      return 16;
    case Op::Pow:
      return 32;
    case Op::Div:
    case Op::Recip:
    case Op::Sqrt:
      return 6;
    case Op::TruncDiv:
    case Op::TruncMod:
    case Op::FloorDiv:
    case Op::FloorMod:
      return 12;
    case Op::Const:
    case Op::Range:
    case Op::Var:
    case Op::Cast:
      return 0;
    default:
      return 1;
  }
}

std::vector<UOpRef> ranges_of(UOpRef stage) { return {stage->sources.begin() + 1, stage->sources.end()}; }

double extent(UOpRef range) { return static_cast<double>(std::max<std::int64_t>(range->source(0)->bounds.max, 1)); }
double extent(const std::vector<UOpRef>& ranges) {
  double n = 1;
  for (UOpRef r : ranges) n *= extent(r);
  return n;
}

std::vector<UOpRef> free_ranges(std::vector<UOpRef> work) {
  std::vector<UOpRef> found;
  std::unordered_set<UOpRef> seen;
  while (!work.empty()) {
    UOpRef x = work.back();
    work.pop_back();
    if (!seen.insert(x).second) continue;
    if (x->is(Op::Range)) found.push_back(x);
    for (UOpRef s : x->sources) {
      if (!s->is(Op::Stage)) work.push_back(s);
    }
  }
  std::ranges::sort(found, {}, &ir::UOp::id);
  return found;
}

// One place a stage is read: the index node and the stage whose value holds it.
struct Use {
  UOpRef index;     // index(stage, i..., gate)
  UOpRef consumer;  // stage
};

struct Body {
  std::vector<UOpRef> nodes;
  int cost = 0;
  bool reduces = false;
};

class Fuser {
 public:
  Fuser(ir::Graph& g, UOpRef sink) : g_(g), sink_(sink) {}

  absl::StatusOr<UOpRef> run() {
    // Consumers first, so that a stage taken back exposes the stages below it to its consumer. Each accepted
    // step rebuilds the sink; stages are known by their id across rebuilds.
    std::vector<std::uint32_t> order;
    for (UOpRef stage : stages_in_order(sink_)) order.push_back(stage->as<ir::StageInfo>().id);
    std::ranges::reverse(order);
    for (std::uint32_t id : order) {
      analyse();
      UOpRef stage = by_id_.contains(id) ? by_id_.at(id) : nullptr;
      if (!stage || stage->as<ir::StageInfo>().forced || !should_inline(stage)) continue;
      if (auto s = inline_stage(stage); !s.ok()) return s;
    }
    return sink_;
  }

 private:
  void analyse() {
    if (!stale_) return;
    stale_ = false;
    by_id_.clear();
    uses_.clear();
    std::unordered_map<UOpRef, Body> old = std::move(bodies_);
    bodies_.clear();
    for (UOpRef stage : stages_in_order(sink_)) {
      by_id_[stage->as<ir::StageInfo>().id] = stage;
      auto known = old.find(stage);
      Body& body = bodies_[stage];
      if (known != old.end()) {
        body = std::move(known->second);
      } else {
        body.nodes = stage_body(stage);
        for (UOpRef x : body.nodes) {
          body.cost += op_cost(x);
          body.reduces |= x->is(Op::Reduce);
        }
      }
      for (UOpRef x : body.nodes) {
        if (x->is(Op::Index) && x->source(0)->is(Op::Stage)) uses_[x->source(0)].push_back({x, stage});
      }
    }
  }

  static std::vector<UOpRef> position(UOpRef index) { return {index->sources.begin() + 1, index->sources.end() - 1}; }

  // How often the stage's value would be computed at this use, per element of the stage.
  double evaluations(const Use& use) const {
    std::vector<UOpRef> at = position(use.index);
    std::vector<UOpRef> free = free_ranges(at);
    std::vector<UOpRef> outer = ranges_of(use.consumer);
    double inner = 1;
    std::size_t deepest = 0;
    for (UOpRef r : free) {
      auto found = std::ranges::find(outer, r);
      if (found == outer.end()) {
        inner *= extent(r);
      } else {
        deepest = std::max<std::size_t>(deepest, found - outer.begin() + 1);
      }
    }
    if (inner > 1) {
      // Inside a reduction: all loops around that reduction repeat it. They are those its body depends on.
      std::vector<UOpRef> around = ranges_around(use.consumer, use.index);
      double n = inner;
      for (UOpRef r : outer) {
        if (std::ranges::find(around, r) != around.end()) n *= extent(r);
      }
      return n;
    }
    return extent(std::vector<UOpRef>(outer.begin(), outer.begin() + deepest));
  }

  // Output ranges the innermost enclosing reductions of `index` depend on.
  std::vector<UOpRef> ranges_around(UOpRef consumer, UOpRef index) const {
    std::unordered_map<UOpRef, bool> holds;
    std::vector<UOpRef> found;
    for (UOpRef x : bodies_.at(consumer).nodes) {
      bool h = x == index;
      for (UOpRef s : x->sources) h |= holds.contains(s) && holds.at(s);
      holds[x] = h;
      if (h && x->is(Op::Reduce)) {
        for (UOpRef r : free_ranges({x})) found.push_back(r);
      }
    }
    return found;
  }

  bool should_inline(UOpRef stage) const {
    auto found = uses_.find(stage);
    if (found == uses_.end()) return false;
    const std::vector<Use>& uses = found->second;
    const Body& body = bodies_.at(stage);
    for (const Use& use : uses) {
      if (bodies_.at(use.consumer).nodes.size() + body.nodes.size() > kMaxKernelNodes) return false;
      // A value at an unknown position (gather) would be computed for many positions or none.
      for (UOpRef i : position(use.index)) {
        if (has_load(i) && body.cost > kCheapCost) return false;
      }
    }
    bool one_consumer = std::ranges::all_of(uses, [&](const Use& u) { return u.consumer == uses[0].consumer; });
    return body.reduces ? one_consumer && inline_reduction(stage, uses)
                        : inline_elementwise(stage, uses, body, one_consumer);
  }

  static bool has_load(UOpRef root) {
    for (UOpRef x : toposort(root)) {
      if (x->is(Op::Load)) return true;
    }
    return false;
  }

  bool inline_elementwise(UOpRef stage, const std::vector<Use>& uses, const Body& body, bool one_consumer) const {
    double factor = 0;
    for (const Use& use : uses) factor += evaluations(use);
    factor /= extent(ranges_of(stage));
    if (factor <= 1) return true;
    // The epilogue of a reduction belongs to the reduction, not to each of its readers.
    for (UOpRef x : body.nodes) {
      if (x->is(Op::Index) && x->source(0)->is(Op::Stage) && bodies_.at(x->source(0)).reduces && reads_once(stage, x))
        return false;
    }
    if (body.cost <= kCheapCost) return true;
    return one_consumer && factor <= kRowRecomputeFactor && body.cost <= kRowRecomputeCost;
  }

  // The stage reads all of `index`'s stage, each element once, and nobody else reads it.
  bool reads_once(UOpRef stage, UOpRef index) const {
    UOpRef source = index->source(0);
    if (uses_.at(source).size() != 1) return false;
    std::vector<UOpRef> outer = ranges_of(stage), at = position(index);
    return at.size() == outer.size() &&
           std::ranges::all_of(at, [&](UOpRef i) { return std::ranges::find(outer, i) != outer.end(); });
  }

  // Every element computed exactly once, in loops that stand outermost in the consumer.
  bool inline_reduction(UOpRef stage, const std::vector<Use>& uses) const {
    std::vector<UOpRef> own = ranges_of(stage);
    std::vector<UOpRef> outer = ranges_of(uses[0].consumer);
    double total = 0;
    std::optional<std::size_t> depth;
    for (const Use& use : uses) {
      // With the gate: a value that depends on it is computed inside its ranges' loops.
      std::vector<UOpRef> used = free_ranges({use.index->sources.begin() + 1, use.index->sources.end()});
      for (UOpRef r : used) {
        if (std::ranges::find(outer, r) == outer.end()) return false;  // inside another reduction
      }
      for (std::size_t i = 0; i < used.size(); ++i) {  // a prefix of the consumer's loops
        if (std::ranges::find(used, outer[i]) == used.end()) return false;
      }
      if (depth && *depth != used.size()) return false;
      depth = used.size();
      if (!injective(own, position(use.index))) return false;
      total += extent(used);
    }
    return total <= extent(own);
  }

  // Distinct values of the ranges give distinct positions.
  static bool injective(const std::vector<UOpRef>& own, const std::vector<UOpRef>& at) {
    bool plain = true;
    std::unordered_set<UOpRef> seen;
    for (UOpRef i : at) {
      UOpRef base = i->is(Op::Add) && i->source(1)->is_const() ? i->source(0) : i;
      plain &= i->is_const() || (base->is(Op::Range) && seen.insert(base).second);
    }
    if (plain) return true;
    // Mixed radix: sorted by stride, each stride is at least the extent of everything below it.
    std::map<std::int64_t, std::int64_t> radix;  // stride -> extent
    std::int64_t stride = 1;
    for (std::size_t i = own.size(); i-- > 0;) {
      UOpRef size = own[i]->source(0);
      for (const ir::AffineTerm& t : ir::to_affine(at[i]).terms) {
        if (!t.atom->is(Op::Range) || !t.atom->source(0)->is_const() || t.coefficient <= 0) return false;
        if (!radix.emplace(t.coefficient * stride, t.atom->source(0)->int_value()).second) return false;
      }
      if (!size->is_const()) return false;
      stride *= size->int_value();
    }
    std::int64_t below = 1;
    for (auto [s, n] : radix) {
      if (s < below) return false;
      below = s * n;
    }
    return true;
  }

  absl::Status inline_stage(UOpRef stage) {
    std::vector<std::pair<UOpRef, UOpRef>> replaced;
    for (const Use& use : uses_.at(stage)) {
      UOpRef gate = use.index->sources.back();
      auto value = value_at(stage, position(use.index), gate);
      if (!value.ok()) return value.status();
      for (UOpRef x : bodies_.at(use.consumer).nodes) {
        if (!x->is(Op::Load) || x->source(0) != use.index) continue;
        bool duplicate = std::ranges::any_of(replaced, [&](const auto& p) { return p.first == x; });
        if (!duplicate) replaced.emplace_back(x, *value);
      }
    }
    sink_ = substitute(g_, sink_, replaced);
    stale_ = true;
    return absl::OkStatus();
  }

  // The stage's value with its ranges set to `at`, every load in it gated by `gate` too.
  absl::StatusOr<UOpRef> value_at(UOpRef stage, const std::vector<UOpRef>& at, UOpRef gate) {
    std::unordered_map<UOpRef, UOpRef> done;
    std::vector<UOpRef> own = ranges_of(stage);
    for (std::size_t i = 0; i < own.size(); ++i) done[own[i]] = at[i];
    bool gated = gate != g_.boolean(true);
    std::vector<UOpRef> sources;
    for (UOpRef x : bodies_.at(stage).nodes) {
      if (done.contains(x)) continue;
      ir::ProvenanceScope scope(g_, x->provenance);
      sources.clear();
      bool changed = false;
      for (UOpRef s : x->sources) {
        auto found = done.find(s);
        sources.push_back(found == done.end() ? s : found->second);
        changed |= sources.back() != s;
      }
      if (gated && x->is(Op::Index)) {
        sources.back() = ir::fold_and(g_, gate, sources.back());
        changed = true;
      }
      UOpRef copy = changed ? g_.with_sources(x, sources) : x;
      if (changed && is_index(x->dtype) && (x->is(Op::FloorDiv) || x->is(Op::FloorMod) || x->is(Op::Add))) {
        auto simpler = rules::simplify(g_, copy);
        if (!simpler.ok()) return simpler.status();
        copy = *simpler;
      }
      done[x] = copy;
    }
    UOpRef value = stage->source(0);
    auto found = done.find(value);
    return found == done.end() ? value : found->second;
  }

  ir::Graph& g_;
  UOpRef sink_;
  bool stale_ = true;
  std::unordered_map<std::uint32_t, UOpRef> by_id_;
  std::unordered_map<UOpRef, std::vector<Use>> uses_;
  std::unordered_map<UOpRef, Body> bodies_;
};

}  // namespace

absl::StatusOr<UOpRef> fuse(ir::Graph& graph, UOpRef sink) { return Fuser(graph, sink).run(); }

std::vector<UOpRef> stages_in_order(UOpRef sink) {
  std::vector<UOpRef> stages;
  for (UOpRef x : toposort(sink)) {
    if (x->is(Op::Stage)) stages.push_back(x);
  }
  return stages;
}

std::vector<UOpRef> stage_body(UOpRef stage) {
  std::vector<UOpRef> order;
  std::unordered_set<UOpRef> seen;
  struct Frame {
    UOpRef node;
    std::size_t next;
  };
  std::vector<Frame> stack;
  for (UOpRef root : stage->sources) {
    if (!seen.insert(root).second) continue;
    stack.push_back({root, 0});
    while (!stack.empty()) {
      Frame& frame = stack.back();
      if (frame.next < frame.node->sources.size()) {
        UOpRef s = frame.node->source(frame.next++);
        if (!s->is(Op::Stage) && seen.insert(s).second) stack.push_back({s, 0});
      } else {
        order.push_back(frame.node);
        stack.pop_back();
      }
    }
  }
  return order;
}

}  // namespace hearth::passes
