#include "compiler/passes/ranged/narrow_stages.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "compiler/ir/rebuild.h"
#include "compiler/passes/ranged/stage_facts.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::Scalar;
using ir::UOpRef;

bool is_half(ir::DType dtype) { return dtype == Scalar::F16 || dtype == Scalar::BF16; }

class Narrower {
 public:
  Narrower(ir::Graph& g, UOpRef sink) : g_(g), sink_(sink), outputs_(sink->sources.begin(), sink->sources.end()) {}

  UOpRef run() {
    find_readers();
    return rebuild(g_, sink_, [&](UOpRef x, ir::Sources& sources) -> UOpRef {
      if (x->is(Op::Stage)) return stage_of(x, sources);
      if (x->is(Op::Load) && x->dtype == Scalar::F32) {
        const ir::DType stored = sources[0]->source(0)->dtype;
        if (is_half(stored)) return g_.cast(g_.make(Op::Load, stored, sources, x->payload), Scalar::F32);
      }
      // Back to what was read.
      if (x->is(Op::Cast) && sources[0]->is(Op::Cast) && sources[0]->dtype == Scalar::F32 && is_half(x->dtype) &&
          sources[0]->source(0)->dtype == x->dtype)
        return sources[0]->source(0);
      return nullptr;
    });
  }

 private:
  void find_readers() {
    for (UOpRef x : toposort(sink_)) {
      for (UOpRef source : x->sources) {
        // By a blob, a loop or a scatter, or with another value beyond its end.
        if (source->is(Op::Stage) && !x->is(Op::Index) && x != sink_) fixed_.insert(source);
        const bool is_of_stage = source->is(Op::Index) && source->source(0)->is(Op::Stage);
        if (is_of_stage && (!x->is(Op::Load) || x->sources.size() > 1)) fixed_.insert(source->source(0));
        const bool is_element = source->is(Op::Load) && source->source(0)->source(0)->is(Op::Stage);
        // What goes into a loop, a blob or a scatter has the type that it expects.
        if (is_element && ir::op_class(x->op) == ir::OpClass::Composite) fixed_.insert(source->source(0)->source(0));
        if (is_element) read_as_[source->source(0)->source(0)].insert(x->is(Op::Cast) ? x->dtype.scalar : Scalar::Void);
      }
    }
  }

  UOpRef stage_of(UOpRef stage, ir::Sources& sources) {
    if (stage->dtype != Scalar::F32 || outputs_.contains(stage) || fixed_.contains(stage)) return nullptr;
    const auto readers = read_as_.find(stage);
    // A loop, a blob or a scatter stores its results itself, in their own type; a choice has a form of its own.
    UOpRef computed = stage->source(0)->is(Op::Cast) ? stage->source(0)->source(0) : stage->source(0);
    const bool has_own_form = ir::op_class(computed->op) == ir::OpClass::Composite || stage->as<ir::StageInfo>().choice;
    if (readers == read_as_.end() || has_own_form || is_row_statistic(stage)) return nullptr;
    Scalar narrow = Scalar::Void;
    if (UOpRef value = stage->source(0); value->is(Op::Cast) && is_half(value->source(0)->dtype)) {
      narrow = value->source(0)->dtype.scalar;
    } else if (readers->second.size() == 1 && is_half(ir::DType(*readers->second.begin()))) {
      narrow = *readers->second.begin();
    }
    if (narrow == Scalar::Void) return nullptr;
    UOpRef value = sources[0];
    const bool was_cast = value->is(Op::Cast) && value->source(0)->dtype == narrow;
    sources[0] = was_cast ? value->source(0) : g_.cast(value, narrow);
    return g_.make(Op::Stage, narrow, sources, stage->payload);
  }

  ir::Graph& g_;
  UOpRef sink_;
  const absl::flat_hash_set<UOpRef> outputs_;
  absl::flat_hash_map<UOpRef, absl::flat_hash_set<Scalar>> read_as_;  // what a stage's elements are cast to; Void: not
  absl::flat_hash_set<UOpRef> fixed_;
};

}  // namespace

UOpRef narrow_stages(ir::Graph& g, UOpRef sink, const target::Target& target) {
  return target.unit() == target::Unit::Invocation ? Narrower(g, sink).run() : sink;
}

}  // namespace hearth::passes
