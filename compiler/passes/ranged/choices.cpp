#include "compiler/passes/ranged/choices.h"

#include <algorithm>
#include <ranges>

#include "compiler/ir/shape.h"
#include "compiler/passes/ranged/stages.h"

namespace hearth::passes {

using ir::Op;
using ir::UOpRef;

bool is_stored_bool(UOpRef condition) {
  if (!condition->is(Op::Load) || !is_bool(condition->dtype) || condition->dtype.lanes != 1) return false;
  UOpRef index = condition->source(0), buffer = index->source(0);
  if (!buffer->is(Op::Stage) && !buffer->is(Op::Buffer)) return false;
  UOpRef gate = index->sources.back();
  return gate->is_const() && gate->int_value() != 0 &&
         std::ranges::all_of(axes_of(buffer), [](UOpRef n) { return n->is_const() && n->int_value() == 1; });
}

namespace {

// 1 where the bool has the value `wanted`, else 0: runs_if of the part for that value.
UOpRef number_of(ir::Graph& g, UOpRef stored_bool, bool wanted) {
  UOpRef number = g.cast(stored_bool, ir::Scalar::Index);
  return wanted ? number : g.binary(Op::Sub, g.index(1), number);
}

}  // namespace

RunsIf taken_apart(ir::Graph& g, UOpRef runs_if) {
  if (!runs_if) return {};
  if (runs_if->is(Op::Mul)) {
    RunsIf a = taken_apart(g, runs_if->source(0)), b = taken_apart(g, runs_if->source(1));
    a.units = both_run(g, a.units, b.units);
    for (const auto& each : b.bools)
      if (std::ranges::find(a.bools, each) == a.bools.end()) a.bools.push_back(each);
    return a;
  }
  const bool wanted = !runs_if->is(Op::Sub);
  UOpRef number = wanted ? runs_if : runs_if->source(1);
  if (!number->is(Op::Cast) || !is_stored_bool(number->source(0))) return {runs_if, {}};
  return {nullptr, {{number->source(0)->source(0)->source(0), wanted}}};
}

std::vector<ChoicePart> parts_of(ir::Graph& g, UOpRef stage) {
  const auto& info = stage->as<ir::StageInfo>();
  if (!info.choice) return {{stage, nullptr}};
  UOpRef choice = stage->source(0), condition = choice->source(0), one = g.index(1);
  const auto part = [&](std::size_t value, UOpRef runs_if) {
    std::vector<UOpRef> sources(stage->sources.begin(), stage->sources.end());
    sources[0] = choice->source(value);
    ir::ProvenanceScope scope(g, stage->provenance);
    return ChoicePart{g.make(Op::Stage, stage->dtype, sources, ir::StageInfo{info.id, info.forced, false, false}),
                      runs_if};
  };
  if (is_stored_bool(condition))
    return {part(1, number_of(g, condition, true)), part(2, number_of(g, condition, false))};
  // a < b as a number: min(1, max(0, b - a)).
  UOpRef difference = ir::fold_sub(g, condition->source(1), condition->source(0));
  UOpRef first = g.binary(Op::Min, g.binary(Op::Max, difference, g.index(0)), one);
  return {part(1, first), part(2, g.binary(Op::Sub, one, first))};
}

UOpRef both_run(ir::Graph& g, UOpRef a, UOpRef b) {
  if (!a || !b || a == b) return a ? a : b;
  return ir::fold_mul(g, a, b);
}

std::unordered_map<UOpRef, UOpRef> needed_if(ir::Graph& g, UOpRef sink) {
  std::unordered_map<UOpRef, UOpRef> needed;
  for (UOpRef output : sink->sources) needed[output] = nullptr;
  for (UOpRef stage : std::views::reverse(stages_in_order(sink))) {
    UOpRef own = needed[stage];  // of nobody: always
    const bool is_whole = is_opaque(stage->source(0));
    if (is_whole) own = needed[stage] = nullptr;  // loops, blobs and scatters are launched always
    const auto need = [&](UOpRef read, UOpRef runs_if) {
      if (!read->is(Op::Stage)) return;
      const auto [found, first] = needed.try_emplace(read, runs_if);
      if (!first && found->second != runs_if) found->second = nullptr;
    };
    for (const ChoicePart& part : parts_of(g, stage)) {
      UOpRef runs_if = both_run(g, own, part.runs_if);
      for (const auto& [decides, value] : taken_apart(g, part.runs_if).bools) need(decides, own);
      for (UOpRef x : stage_body(part.stage)) {
        for (UOpRef read : x->sources) need(read, runs_if);
      }
    }
  }
  return needed;
}

}  // namespace hearth::passes
