#include "compiler/passes/ranged/fuse.h"

#include <algorithm>
#include <optional>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/status_macros.h"
#include "compiler/ir/shape.h"
#include "compiler/passes/ranged/contraction_reuse.h"
#include "compiler/passes/ranged/injective.h"
#include "compiler/passes/ranged/stages.h"
#include "compiler/rules/rules.h"
#include "compiler/schedule/kernel_facts.h"
#include "compiler/schedule/op_cost.h"
#include "fmt/format.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::UOpRef;

constexpr int kCheapCost = 6;  // recompute anywhere: less than a store and a load would cost
// What a value may cost that a contraction computes for each of its products: a load and an operation, which
// multiply-adds hide.
constexpr int kCheapInContraction = 2;
constexpr int kRowRecomputeCost = 40;  // recompute twice within one row kernel (softmax's exp)
constexpr double kRowRecomputeFactor = 2.0;
constexpr double kMinSharing = 32;  // results
constexpr std::size_t kMaxKernelNodes = 4000;

std::vector<UOpRef> ranges_of(UOpRef stage) { return {stage->sources.begin() + 1, stage->sources.end()}; }

bool has_load(UOpRef root) { return contains_op(root, Op::Load); }

// A stage while it may still change. Whoever reads it names its stand-in, a stage with the same id, dtype and ranges
// but no value: a new value changes no other body, so that a step costs what its bodies cost, not the whole graph.
struct Body {
  UOpRef placeholder = nullptr;
  UOpRef value = nullptr;
  bool live = true;               // an output, or read by something live
  std::vector<UOpRef> nodes;      // of value and ranges
  std::vector<UOpRef> reads;      // index(stand-in, i..., gate) among them
  std::size_t number = 0;         // in stage order
  std::set<std::size_t> readers;  // those that read it are among these
  int cost = 0;
  int conditions = 0;  // of the cost: comparisons of positions, as a pad makes them
  int values = 0;      // of the cost: loads and arithmetic on what they load
  bool reduces = false;
  bool gathers = false;           // reads at positions that were read
  std::optional<bool> contracts;  // with reuse; asked only of some

  bool has_contraction() {
    if (!contracts) contracts = reduces && has_contraction_with_reuse(nodes);
    return *contracts;
  }
  void set_value(UOpRef new_value) {
    value = new_value;
    std::vector<UOpRef> roots(placeholder->sources.begin(), placeholder->sources.end());
    roots[0] = value;
    nodes = nodes_below(roots);
    reads.clear();
    cost = conditions = values = 0;
    reduces = gathers = false;
    contracts.reset();
    absl::flat_hash_set<UOpRef> of_values;
    for (UOpRef x : nodes) {
      cost += schedule::op_cost(x);
      const bool by_value =
          x->is(Op::Load) || std::ranges::any_of(x->sources, [&](UOpRef s) { return of_values.contains(s); });
      if (by_value) of_values.insert(x);
      if (by_value) values += schedule::op_cost(x);
      if (is_bool(x->dtype) && !by_value) conditions += schedule::op_cost(x);
      reduces |= x->is(Op::Reduce);
      gathers |= x->is(Op::Index) && std::any_of(x->sources.begin() + 1, x->sources.end() - 1, has_load);
      if (x->is(Op::Index) && x->source(0)->is(Op::Stage)) reads.push_back(x);
    }
  }
};

// One place a stage is read.
struct Use {
  UOpRef index;    // index(stand-in, i..., gate)
  Body* consumer;  // whose value holds it
};

class Fuser {
 public:
  Fuser(ir::Graph& g, UOpRef sink, bool has_masks) : g_(g), sink_(sink), has_masks_(has_masks) {}

  absl::StatusOr<UOpRef> run() {
    extract_bodies();
    // Consumers first, so that a stage taken back exposes the stages below it to its consumer.
    for (std::size_t i = bodies_.size(); i-- > 0;) {
      Body& body = bodies_[i];
      std::vector<Use> uses = uses_of(body);
      body.live = outputs_.contains(body.placeholder) || !uses.empty();
      if (uses.empty() || body.placeholder->as<ir::StageInfo>().forced || !should_inline(body, uses)) continue;
      if (auto s = inline_stage(body, uses); !s.ok()) return s;
      body.live = !uses_of(body).empty();  // a position may itself read the stage
    }
    return put_together();
  }

 private:
  // x over the sources that `map` names; its own where it names none.
  UOpRef remap_sources(UOpRef x, const absl::flat_hash_map<UOpRef, UOpRef>& map) {
    sources_.clear();
    bool changed = false;
    for (UOpRef s : x->sources) {
      auto found = map.find(s);
      sources_.push_back(found == map.end() ? s : found->second);
      changed |= sources_.back() != s;
    }
    if (!changed) return x;
    ir::ProvenanceScope scope(g_, x->provenance);
    return g_.with_sources(x, sources_);
  }

  void extract_bodies() {
    const std::vector<UOpRef> stages = stages_in_order(sink_);
    bodies_.resize(stages.size());  // readers point into it
    absl::flat_hash_map<UOpRef, UOpRef> done;
    for (std::size_t i = 0; i < stages.size(); ++i) {
      UOpRef stage = stages[i];
      for (UOpRef x : stage_body(stage)) {
        if (!done.contains(x)) done[x] = remap_sources(x, done);
      }
      Body& body = bodies_[i];
      body.number = i;
      UOpRef value = done.at(stage->source(0));
      std::vector<UOpRef> sources(stage->sources.begin(), stage->sources.end());
      sources[0] = g_.zero_like(value);
      ir::ProvenanceScope scope(g_, stage->provenance);
      body.placeholder = done[stage] = g_.make(Op::Stage, stage->dtype, sources, stage->payload);
      body_of_[body.placeholder] = &body;
      body.set_value(value);
      for (UOpRef read : body.reads) body_of(read).readers.insert(i);
    }
    for (UOpRef output : sink_->sources) outputs_.insert(done.at(output));
    sink_ = remap_sources(sink_, done);
  }

  UOpRef put_together() {
    absl::flat_hash_map<UOpRef, UOpRef> done;
    for (const Body& body : bodies_) {
      if (!body.live) continue;
      for (UOpRef x : body.nodes) {
        if (!done.contains(x)) done[x] = remap_sources(x, done);
      }
      std::vector<UOpRef> sources(body.placeholder->sources.begin(), body.placeholder->sources.end());
      sources[0] = done.at(body.value);
      ir::ProvenanceScope scope(g_, body.placeholder->provenance);
      done[body.placeholder] = g_.with_sources(body.placeholder, sources);
    }
    return remap_sources(sink_, done);
  }

  // The body that `index` reads.
  Body& body_of(UOpRef index) { return *body_of_.at(index->source(0)); }

  // Where live stages read `body`, in stage order; not all of them when there are `enough`.
  std::vector<Use> uses_of(const Body& body, std::size_t enough = SIZE_MAX) {
    std::vector<Use> uses;
    for (auto reader = body.readers.begin(); reader != body.readers.end() && uses.size() < enough; ++reader) {
      Body& consumer = bodies_[*reader];
      for (UOpRef read : consumer.reads) {
        if (consumer.live && read->source(0) == body.placeholder) uses.push_back({read, &consumer});
      }
    }
    return uses;
  }

  static std::vector<UOpRef> position(UOpRef index) { return {index->sources.begin() + 1, index->sources.end() - 1}; }

  // How often the stage's value would be computed at this use, per element of the stage.
  double evaluations(const Use& use) const {
    std::vector<UOpRef> at = position(use.index);
    std::vector<UOpRef> free = free_ranges(at);
    std::vector<UOpRef> outer = ranges_of(use.consumer->placeholder);
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
      std::vector<UOpRef> around = ranges_around(*use.consumer, use.index);
      double n = inner;
      for (UOpRef r : outer) {
        if (std::ranges::find(around, r) != around.end()) n *= extent(r);
      }
      return n;
    }
    return extent(std::vector<UOpRef>(outer.begin(), outer.begin() + deepest));
  }

  // Output ranges the innermost enclosing reductions of `index` depend on.
  static std::vector<UOpRef> ranges_around(const Body& consumer, UOpRef index) {
    absl::flat_hash_set<UOpRef> holders = {index};
    std::vector<UOpRef> found;
    for (UOpRef x : consumer.nodes) {
      if (std::ranges::any_of(x->sources, [&](UOpRef s) { return holders.contains(s); })) holders.insert(x);
      if (!holders.contains(x) || !x->is(Op::Reduce)) continue;
      for (UOpRef r : free_ranges({x})) found.push_back(r);
    }
    return found;
  }

  bool should_inline(Body& body, const std::vector<Use>& uses) {
    for (const Use& use : uses) {
      if (use.consumer->nodes.size() + body.nodes.size() > kMaxKernelNodes) return false;
      // A value at an unknown position (gather) would be computed for many positions or none.
      for (UOpRef i : position(use.index)) {
        if (body.cost > kCheapCost && has_load(i)) return false;
      }
    }
    bool one_consumer = std::ranges::all_of(uses, [&](const Use& u) { return u.consumer == uses[0].consumer; });
    return body.reduces ? one_consumer && inline_reduction(body, uses) : inline_elementwise(body, uses, one_consumer);
  }

  bool inline_elementwise(const Body& body, const std::vector<Use>& uses, bool one_consumer) {
    double factor = 0;
    for (const Use& use : uses) factor += evaluations(use);
    factor /= extent(ranges_of(body.placeholder));
    // Read in slices (the gates of an LSTM), it stays the epilogue of its reductions: all of them in one kernel.
    if (factor <= 1) return uses.size() == 1 || !is_epilogue(body);
    // What is gathered for several sums of a row lies one after the other for all but the first.
    if (body.gathers && std::ranges::any_of(uses, [](const Use& use) { return use.consumer->reduces; })) return false;
    // The epilogue of a reduction belongs to the reduction, not to each of its readers; what scales a row belongs to
    // the kernel of the row (softmax's exp times one over their sum).
    if (is_epilogue(body)) return false;
    for (UOpRef x : body.reads) {
      if (factor > kRowRecomputeFactor && 2 * size_of(body_of(x)) <= size_of(body) && is_of_rows(body_of(x), 4))
        return false;
    }
    const auto is_cheap = [&](const Use& use) {
      if (use.consumer->has_contraction()) {
        return body.values + repeated_cost(use) <= kCheapInContraction &&
               (body.conditions == 0 || has_cheap_gates(body, use));
      }
      return body.cost <= kCheapCost || (body.cost - body.conditions <= kCheapCost && has_cheap_gates(body, use));
    };
    if (std::ranges::all_of(uses, is_cheap)) return true;
    return one_consumer && factor <= kRowRecomputeFactor && body.cost <= kRowRecomputeCost;
  }

  // What the use's contraction already computes wherever it reads this value: of stages that were inlined before.
  static int repeated_cost(const Use& use) {
    const std::vector<UOpRef> own = free_ranges({use.index});
    absl::flat_hash_set<UOpRef> of_it = {use.index};
    int cost = 0;
    for (UOpRef x : use.consumer->nodes) {
      if (x == use.index || !std::ranges::any_of(x->sources, [&](UOpRef s) { return of_it.contains(s); })) continue;
      const auto is_own = [&](UOpRef range) { return std::ranges::find(own, range) != own.end(); };
      if (x->is(Op::Reduce) || !std::ranges::all_of(free_ranges({x}), is_own)) continue;
      of_it.insert(x);
      if (!x->is(Op::Load)) cost += schedule::op_cost(x);  // the value's own load takes its place
    }
    return cost;
  }

  // Conditions on the position read cost little where they choose a scalar's address for many results that share it
  // (the channels of a convolution), and less than a copy where each result has its own (pooling); between those they
  // cost more. Without masks only where they are the same for all lanes of a vector.
  bool has_cheap_gates(const Body& body, const Use& use) const {
    const bool moves = moves_conditions(body, use, use.consumer->placeholder->sources.back());
    if (moves && !has_masks_) return false;
    const std::vector<UOpRef> at = free_ranges(position(use.index));
    const std::vector<UOpRef> around = ranges_around(*use.consumer, use.index);
    double sharing = 1;
    for (UOpRef r : absl::flat_hash_set<UOpRef>(around.begin(), around.end())) {
      if (std::ranges::find(at, r) == at.end()) sharing *= extent(r);
    }
    // Where lanes could run along a line, a convolution loses a tenth to conditions; a copy of its image is far less.
    // An image that comes from outside would be copied for it alone, what a stage makes is copied from the caches.
    if (moves && sharing > 1 && !body.reads.empty()) return false;
    return sharing == 1 || sharing >= (body.reads.empty() ? kMinSharing : 2 * kMinSharing);
  }

  // Whether the stage's conditions change along `loop`, one of its reader's.
  static bool moves_conditions(const Body& body, const Use& use, UOpRef loop) {
    const std::vector<UOpRef> own = ranges_of(body.placeholder), at = position(use.index);
    for (UOpRef x : body.nodes) {
      if (!x->is(Op::Index)) continue;
      for (UOpRef r : free_ranges({x->sources.back()})) {
        const auto axis = static_cast<std::size_t>(std::ranges::find(own, r) - own.begin());
        if (axis >= at.size()) return true;
        const std::vector<UOpRef> moving = free_ranges({at[axis]});
        if (std::ranges::find(moving, loop) != moving.end()) return true;
      }
    }
    return false;
  }

  static double size_of(const Body& body) { return extent(ranges_of(body.placeholder)); }

  // One value a row of a reduction, or computed from such values in up to `steps` stages.
  bool is_of_rows(const Body& body, int steps) {
    std::vector<const Body*> level = {&body};
    absl::flat_hash_set<const Body*> seen = {&body};
    for (; !level.empty(); --steps) {  // breadth first, each once: the shortest way to a stage decides
      std::vector<const Body*> next;
      for (const Body* b : level) {
        if (size_of(*b) <= 1) continue;
        if (b->reduces) return true;
        for (UOpRef x : b->reads) {
          const Body& source = body_of(x);
          if (steps > 0 && size_of(source) <= size_of(*b) && seen.insert(&source).second) next.push_back(&source);
        }
      }
      level = std::move(next);
    }
    return false;
  }

  bool is_epilogue(const Body& body) {
    return std::ranges::any_of(body.reads, [&](UOpRef x) { return body_of(x).reduces && reads_once(body, x); });
  }

  // The stage reads all of `index`'s stage, each element once, and nobody else reads it.
  bool reads_once(const Body& body, UOpRef index) {
    if (uses_of(body_of(index), 2).size() != 1) return false;
    std::vector<UOpRef> outer = ranges_of(body.placeholder), at = position(index);
    return at.size() == outer.size() &&
           std::ranges::all_of(at, [&](UOpRef i) { return std::ranges::find(outer, i) != outer.end(); });
  }

  // Every element computed exactly once, in loops that stand outermost in the consumer. A contraction with reuse gets
  // its tile only where it is the one sum of its kernel: of two that are added, and of one and a product that is added
  // to each of its channels, one is read from memory; and only where all loops of the kernel are its own: not in front
  // of an outer product.
  bool inline_reduction(Body& body, const std::vector<Use>& uses) {
    std::vector<UOpRef> own = ranges_of(body.placeholder);
    std::vector<UOpRef> outer = ranges_of(uses[0].consumer->placeholder);
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
    if (total > extent(own)) return false;
    Body& consumer = *uses[0].consumer;
    if (body.has_contraction()) return *depth == outer.size() && !has_sum_of_products(consumer.nodes);
    return !has_sum_of_products(body.nodes) || !(consumer.has_contraction() || reads_contraction(consumer));
  }

  bool reads_contraction(const Body& consumer) {
    return std::ranges::any_of(consumer.reads, [&](UOpRef x) { return body_of(x).has_contraction(); });
  }

  // `uses` are in the order of their consumers.
  absl::Status inline_stage(const Body& body, const std::vector<Use>& uses) {
    for (auto use = uses.begin(); use != uses.end();) {
      Body& consumer = *use->consumer;
      absl::flat_hash_map<UOpRef, UOpRef> values, done;  // by index, by load
      for (; use != uses.end() && use->consumer == &consumer; ++use) {
        HEARTH_ASSIGN_OR_RETURN(auto value, value_at(body, position(use->index), use->index->sources.back()));
        values[use->index] = value;
      }
      for (UOpRef x : consumer.nodes) {
        auto value = x->is(Op::Load) ? values.find(x->source(0)) : values.end();
        done[x] = value != values.end() ? value->second : remap_sources(x, done);
      }
      consumer.set_value(done.at(consumer.value));
      for (UOpRef read : body.reads) body_of(read).readers.insert(consumer.number);
    }
    return absl::OkStatus();
  }

  // The stage's value with its ranges set to `at`, every load in it gated by `gate` too.
  absl::StatusOr<UOpRef> value_at(const Body& body, const std::vector<UOpRef>& at, UOpRef gate) {
    absl::flat_hash_map<UOpRef, UOpRef> done;
    std::vector<UOpRef> own = ranges_of(body.placeholder);
    for (std::size_t i = 0; i < own.size(); ++i) done[own[i]] = at[i];
    bool gated = gate != g_.boolean(true);
    std::vector<UOpRef> sources;
    for (UOpRef x : body.nodes) {
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
        HEARTH_ASSIGN_OR_RETURN(auto simpler, rules::simplify(g_, copy));
        copy = simpler;
      }
      done[x] = copy;
    }
    return done.at(body.value);
  }

  ir::Graph& g_;
  UOpRef sink_;
  const bool has_masks_;
  std::vector<Body> bodies_;                    // in stage order: each after those it reads
  absl::flat_hash_map<UOpRef, Body*> body_of_;  // by stand-in
  absl::flat_hash_set<UOpRef> outputs_;
  std::vector<UOpRef> sources_;
};

}  // namespace

absl::StatusOr<UOpRef> fuse(ir::Graph& graph, UOpRef sink, const target::Target& target) {
  absl::StatusOr<UOpRef> fused = Fuser(graph, sink, target.has_masks()).run();
  if (!fused.ok()) return fused;
  absl::flat_hash_set<std::uint32_t> ids;
  for (UOpRef stage : stages_in_order(*fused)) {
    if (!ids.insert(stage->as<ir::StageInfo>().id).second)
      return absl::InternalError(fmt::format("fuse: stage {} is there twice", stage->as<ir::StageInfo>().id));
  }
  return fused;
}

}  // namespace hearth::passes
