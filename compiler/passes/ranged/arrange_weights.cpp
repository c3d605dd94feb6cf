#include "compiler/passes/ranged/arrange_weights.h"

#include <algorithm>

#include "compiler/ir/affine.h"
#include "compiler/passes/ranged/movement_index.h"
#include "compiler/passes/ranged/once_stages.h"
#include "compiler/passes/ranged/stage_facts.h"
#include "compiler/passes/ranged/stages.h"
#include "compiler/passes/report.h"
#include "compiler/rules/rules.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::UOpRef;
using Map = std::vector<std::pair<UOpRef, UOpRef>>;

class Arranger {
 public:
  explicit Arranger(ir::Graph& g) : g_(g) {}

  absl::StatusOr<UOpRef> rewritten(UOpRef stage, bool is_output) {
    once_.add(stage, is_output);
    const StageFacts facts(stage);
    if (!facts.contracts) return stage;
    Map arranged;  // loads
    for (const StageRead& read : facts.reads) {
      if (!read.in_reduction || !once_.contains(read.from()) || !fits(read)) continue;
      HEARTH_ASSIGN_OR_RETURN(const bool is_affine, is_affine_in_loops(read));
      if (is_affine) continue;
      for (UOpRef x : stage_body(stage)) {
        if (x->is(Op::Load) && x->source(0) == read.index) arranged.emplace_back(x, from_stage_of_its_own(x, facts));
      }
    }
    if (arranged.empty()) return stage;
    UOpRef made = replaced_below(g_, stage, arranged);
    once_.add_equal(made, stage);
    return made;
  }

 private:
  // Read at places that no value decides, of known number, no more than there are elements.
  bool fits(const StageRead& read) const {
    const auto is_decided = [](UOpRef x) { return x->is(Op::Load) || x->is(Op::Var); };
    if (std::ranges::any_of(nodes_below({&read.index, 1}), is_decided)) return false;
    const auto is_known = [](UOpRef length) { return length->is_const(); };
    const ir::Shape shape = axes_of(read.from());
    const std::vector<UOpRef> ranges = free_ranges({read.index});
    if (!std::ranges::all_of(shape, is_known) ||
        !std::ranges::all_of(ranges, [&](UOpRef range) { return is_known(range->source(0)); }))
      return false;
    double elements = 1;
    for (UOpRef length : shape) elements *= static_cast<double>(length->int_value());
    return extent(ranges) <= elements;
  }

  // Whether the place in memory is a sum of multiples of loops.
  absl::StatusOr<bool> is_affine_in_loops(const StageRead& read) {
    const std::vector<UOpRef> at(read.index->sources.begin() + 1, read.index->sources.end() - 1);
    HEARTH_ASSIGN_OR_RETURN(UOpRef place, rules::simplify(g_, flat_index(g_, axes_of(read.from()), at)));
    return std::ranges::all_of(ir::to_affine(place).terms,
                               [](const ir::AffineTerm& term) { return term.atom->is(Op::Range); });
  }

  // What is loaded, in place of a load from a stage that only pads or converts the weights: that one would be stored
  // for this one alone.
  UOpRef computed(UOpRef load) {
    UOpRef index = load->source(0), stage = index->source(0);
    if (!stage->is(Op::Stage) || index->sources.back() != g_.boolean(true) || load->sources.size() > 1) return load;
    const auto has_more = [](UOpRef x) { return x->is(Op::Reduce) || is_opaque(x); };
    if (std::ranges::any_of(stage_body(stage), has_more)) return load;
    Map map;
    for (std::size_t i = 1; i < stage->sources.size(); ++i) map.emplace_back(stage->source(i), index->source(i));
    return replaced_below(g_, stage->source(0), map);
  }

  // Summed ranges first, then the stage's own: innermost what results are next to each other in.
  UOpRef from_stage_of_its_own(UOpRef load, const StageFacts& facts) {
    const std::vector<UOpRef> used = free_ranges({load->source(0)});
    std::vector<UOpRef> sources = {nullptr}, at = {nullptr};
    Map renamed;
    for (const auto* ranges : {&facts.reduced, &facts.loops}) {
      for (UOpRef range : *ranges) {
        if (!contains(used, range)) continue;
        sources.push_back(g_.range(range->source(0), g_.fresh_id(), ir::RangeKind::Loop));
        at.push_back(range);
        renamed.emplace_back(range, sources.back());
      }
    }
    ir::ProvenanceScope scope(g_, load->provenance);
    sources[0] = replaced_below(g_, computed(load), renamed);
    UOpRef stage = g_.make(Op::Stage, load->dtype, sources, ir::StageInfo{g_.fresh_id()});
    once_.add(stage, /*is_output=*/false);
    at[0] = stage;
    at.push_back(g_.boolean(true));
    return g_.make(Op::Load, load->dtype, {g_.make(Op::Index, ir::Scalar::Void, at)});
  }

  ir::Graph& g_;
  OnceStages once_;
};

}  // namespace

absl::StatusOr<UOpRef> arrange_weights(ir::Graph& graph, UOpRef sink) {
  Arranger arranger(graph);
  return rewrite_stages(graph, sink,
                        [&](UOpRef stage, bool is_output) { return arranger.rewritten(stage, is_output); });
}

}  // namespace hearth::passes
