#include "compiler/passes/kernel/choices.h"

#include <algorithm>
#include <ranges>

#include "compiler/ir/shape.h"
#include "compiler/passes/ranged/stages.h"

namespace hearth::passes {

using ir::Op;
using ir::UOpRef;

std::vector<ChoicePart> parts_of(ir::Graph& g, UOpRef stage) {
  const auto& info = stage->as<ir::StageInfo>();
  if (!info.choice) return {{stage, nullptr}};
  UOpRef choice = stage->source(0), condition = choice->source(0), one = g.index(1);
  // a < b as a number: min(1, max(0, b - a)).
  UOpRef difference = ir::fold_sub(g, condition->source(1), condition->source(0));
  UOpRef first = g.binary(Op::Min, g.binary(Op::Max, difference, g.index(0)), one);
  const auto part = [&](std::size_t value, UOpRef runs_if) {
    std::vector<UOpRef> sources(stage->sources.begin(), stage->sources.end());
    sources[0] = choice->source(value);
    ir::ProvenanceScope scope(g, stage->provenance);
    return ChoicePart{g.make(Op::Stage, stage->dtype, sources, ir::StageInfo{info.id, info.forced, false, false}),
                      runs_if};
  };
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
    for (const ChoicePart& part : parts_of(g, stage)) {
      UOpRef runs_if = both_run(g, own, part.runs_if);
      for (UOpRef x : stage_body(part.stage)) {
        for (UOpRef read : x->sources) {
          if (!read->is(Op::Stage)) continue;
          const auto [found, first] = needed.try_emplace(read, runs_if);
          if (!first && found->second != runs_if) found->second = nullptr;
        }
      }
    }
  }
  return needed;
}

}  // namespace hearth::passes
