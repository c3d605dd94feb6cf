#include "compiler/passes/ranged/wide_values.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "compiler/passes/ranged/stage_facts.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::Scalar;
using ir::UOpRef;

bool is_half(UOpRef x) { return x->dtype == Scalar::F16 || x->dtype == Scalar::BF16; }

// What is as exact as its operands, but for a rounding.
bool is_arithmetic(Op op) {
  switch (op) {
    case Op::Neg:
    case Op::Recip:
    case Op::Sqrt:
    case Op::Exp:
    case Op::Exp2:
    case Op::Log:
    case Op::Log2:
    case Op::Sin:
    case Op::Cos:
    case Op::Tanh:
    case Op::Erf:
    case Op::Abs:
    case Op::Sigmoid:
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Div:
    case Op::Max:
    case Op::Min:
    case Op::Pow:
    case Op::Fma:
    case Op::Where:
      return true;
    default:
      return false;
  }
}

class Widener {
 public:
  Widener(ir::Graph& g, UOpRef sink) : g_(g), sink_(sink) {}

  UOpRef run() {
    const std::vector<UOpRef> order = toposort(sink_);
    if (std::ranges::none_of(order, [](UOpRef x) { return is_half(x) || x->is(Op::Rounded); })) return sink_;
    const absl::flat_hash_set<UOpRef> outputs(sink_->sources.begin(), sink_->sources.end());
    for (UOpRef x : order) {
      ir::ProvenanceScope scope(g_, x->provenance);
      done_[x] = x->is(Op::Stage) ? stage_of(x, outputs.contains(x)) : value_of(x);
    }
    return done_.at(sink_);
  }

 private:
  UOpRef with_done(UOpRef x) {
    std::vector<UOpRef> sources;
    for (UOpRef s : x->sources) sources.push_back(done_.at(s));
    return g_.with_sources(x, sources);
  }

  // x in f32: as it was computed where that is at hand.
  UOpRef wide(UOpRef x) {
    if (const auto found = wide_.find(x); found != wide_.end()) return found->second;
    return g_.cast(done_.at(x), Scalar::F32);
  }

  UOpRef stage_of(UOpRef stage, bool is_output) {
    UOpRef value = stage->source(0);
    const bool stays = !is_half(value) || is_output || stage->as<ir::StageInfo>().forced || !wide_.contains(value) ||
                       !is_row_statistic(stage);
    if (stays) return with_done(stage);
    std::vector<UOpRef> sources = {wide(value)};
    for (std::size_t i = 1; i < stage->sources.size(); ++i) sources.push_back(done_.at(stage->source(i)));
    return g_.make(Op::Stage, Scalar::F32, sources, stage->payload);
  }

  UOpRef value_of(UOpRef x) {
    if (x->is(Op::Rounded)) return done_.at(x->source(0));
    if (x->is(Op::Cast) && x->dtype == Scalar::F32 && is_half(x->source(0))) return wide(x->source(0));
    if (!is_half(x)) return with_done(x);
    if (x->is(Op::Cast) && x->source(0)->dtype == Scalar::F32) {
      wide_[x] = done_.at(x->source(0));
    } else if (x->is(Op::Load) && done_.at(x->source(0))->source(0)->dtype == Scalar::F32) {
      std::vector<UOpRef> sources = {done_.at(x->source(0))};
      if (x->sources.size() > 1) sources.push_back(wide(x->source(1)));
      wide_[x] = g_.make(Op::Load, Scalar::F32, sources, x->payload);
    } else if (is_arithmetic(x->op)) {
      std::vector<UOpRef> sources;
      for (UOpRef s : x->sources) sources.push_back(is_half(s) ? wide(s) : done_.at(s));
      wide_[x] = g_.make(x->op, Scalar::F32, sources, x->payload);
    } else {
      return with_done(x);
    }
    return g_.cast(wide_.at(x), x->dtype);
  }

  ir::Graph& g_;
  UOpRef sink_;
  absl::flat_hash_map<UOpRef, UOpRef> done_;  // in its own dtype, but for stages that became f32
  absl::flat_hash_map<UOpRef, UOpRef> wide_;  // of narrow nodes: what they are rounded from
};

}  // namespace

absl::StatusOr<UOpRef> wide_values(ir::Graph& graph, UOpRef sink) { return Widener(graph, sink).run(); }

}  // namespace hearth::passes
