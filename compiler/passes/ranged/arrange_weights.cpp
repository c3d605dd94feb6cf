#include "compiler/passes/ranged/arrange_weights.h"

#include <algorithm>

#include "compiler/ir/affine.h"
#include "compiler/passes/ranged/contraction_reuse.h"
#include "compiler/passes/ranged/invariant_stages.h"
#include "compiler/passes/ranged/movement_index.h"
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
    invariant_.add(stage, is_output);
    const StageFacts facts(stage);
    if (!facts.contracts && !has_sum_of_products(stage_body(stage))) return stage;
    Map arranged;  // loads
    for (const StageRead& read : facts.reads) {
      if (!read.in_reduction || !invariant_.contains(read.from()) || !fits(read)) continue;
      HEARTH_ASSIGN_OR_RETURN(const ir::Affine place, place_in_memory(read));
      std::vector<UOpRef> summed = facts.reduced;
      if (!facts.contracts || is_sum_of_loops(place)) {
        HEARTH_ASSIGN_OR_RETURN(UOpRef along, axis_of_dot_products(read, place, facts));
        if (!along) continue;
        std::rotate(std::ranges::find(summed, along), std::ranges::find(summed, along) + 1, summed.end());
      }
      for (UOpRef x : stage_body(stage)) {
        if (x->is(Op::Load) && x->source(0) == read.index)
          arranged.emplace_back(x, from_stage_of_its_own(x, summed, facts.loops));
      }
    }
    if (arranged.empty()) return stage;
    UOpRef made = replaced_below(g_, stage, arranged);
    invariant_.add_equal(made, stage);
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

  absl::StatusOr<ir::Affine> place_in_memory(const StageRead& read) {
    const std::vector<UOpRef> at(read.index->sources.begin() + 1, read.index->sources.end() - 1);
    HEARTH_ASSIGN_OR_RETURN(UOpRef place, rules::simplify(g_, flat_index(g_, axes_of(read.from()), at)));
    return ir::to_affine(place);
  }

  static bool is_sum_of_loops(const ir::Affine& place) {
    return std::ranges::all_of(place.terms, [](const ir::AffineTerm& term) { return term.atom->is(Op::Range); });
  }

  // Neighbours along `loop` are neighbours in memory, or the same element.
  static bool stays_or_runs(const ir::Affine& place, UOpRef loop) {
    return std::ranges::all_of(place.terms, [&](const ir::AffineTerm& term) {
      return term.atom == loop ? term.coefficient == 1 : !contains(free_ranges({term.atom}), loop);
    });
  }

  // A convolution of one result, [rows, columns, channels] by [1, channels, 3, 3]: no loop of results can run along
  // vectors, the sum over the channels can where the weights lie in its order, too. That loop of the sum, or null.
  absl::StatusOr<UOpRef> axis_of_dot_products(const StageRead& weights, const ir::Affine& place,
                                              const StageFacts& facts) {
    const auto is_summed = [&](UOpRef range) { return contains(facts.reduced, range); };
    if (facts.reductions.size() != 1 || !std::ranges::all_of(weights.ranges, is_summed)) return nullptr;
    std::vector<UOpRef> rows(facts.loops), runs(weights.ranges);  // along what all other reads stay or run
    for (const StageRead& read : facts.reads) {
      if (!read.in_reduction || &read == &weights) continue;
      HEARTH_ASSIGN_OR_RETURN(const ir::Affine other, place_in_memory(read));
      std::erase_if(rows, [&](UOpRef loop) { return !stays_or_runs(other, loop); });
      std::erase_if(runs, [&](UOpRef loop) { return other.coefficient_of(loop) != 1 || !stays_or_runs(other, loop); });
    }
    std::erase_if(runs, [&](UOpRef loop) { return place.coefficient_of(loop) == 1; });
    return rows.empty() && runs.size() == 1 ? runs[0] : nullptr;
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
  UOpRef from_stage_of_its_own(UOpRef load, const std::vector<UOpRef>& summed, const std::vector<UOpRef>& loops) {
    const std::vector<UOpRef> used = free_ranges({load->source(0)});
    std::vector<UOpRef> sources = {nullptr}, at = {nullptr};
    Map renamed;
    for (const auto* ranges : {&summed, &loops}) {
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
    invariant_.add(stage, /*is_output=*/false);
    at[0] = stage;
    at.push_back(g_.boolean(true));
    return g_.make(Op::Load, load->dtype, {g_.make(Op::Index, ir::Scalar::Void, at)});
  }

  ir::Graph& g_;
  InvariantStages invariant_;
};

}  // namespace

absl::StatusOr<UOpRef> arrange_weights(ir::Graph& graph, UOpRef sink) {
  Arranger arranger(graph);
  return rewrite_stages(graph, sink,
                        [&](UOpRef stage, bool is_output) { return arranger.rewritten(stage, is_output); });
}

}  // namespace hearth::passes
