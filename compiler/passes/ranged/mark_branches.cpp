#include "compiler/passes/ranged/mark_branches.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "compiler/ir/rebuild.h"
#include "compiler/passes/ranged/choices.h"
#include "compiler/passes/ranged/invariant_stages.h"
#include "compiler/passes/ranged/stages.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::UOpRef;

// A value that is cast after it was chosen is chosen of two that are cast.
UOpRef with_cast_inside(ir::Graph& g, UOpRef value) {
  if (!value->is(Op::Cast) || !value->source(0)->is(Op::Where)) return value;
  UOpRef where = value->source(0);
  return g.where(where->source(0), g.cast(where->source(1), value->dtype), g.cast(where->source(2), value->dtype));
}

bool is_marked(UOpRef x) {
  return x->is(Op::Stage) && x->as<ir::StageInfo>().choice && is_stored_bool(x->source(0)->source(0));
}

// A replay that leaves `value` out saves something: a reduction, or a stage that is needed for the bool and value `taken`
// alone.
bool has_something_to_skip(ir::Graph& g, UOpRef value, const std::pair<UOpRef, bool>& taken,
                           const std::unordered_map<UOpRef, UOpRef>& needed) {
  return std::ranges::any_of(nodes_below(std::array{value}), [&](UOpRef x) {
    if (x->is(Op::Reduce)) return true;
    if (!x->is(Op::Index) || !x->source(0)->is(Op::Stage)) return false;
    const auto of_stage = needed.find(x->source(0));
    if (of_stage == needed.end()) return false;
    const RunsIf runs = taken_apart(g, of_stage->second);
    return std::ranges::find(runs.bools, taken) != runs.bools.end();
  });
}

// The stages that may be choices as such.
UOpRef with_all_marked(ir::Graph& g, UOpRef sink, const std::unordered_set<std::size_t>& fixed) {
  const InvariantStages invariant(sink);  // which are made once, when a plan is prepared
  std::unordered_set<UOpRef> left_alone;
  for (const std::size_t output : fixed) left_alone.insert(sink->source(output));
  return ir::rebuild(g, sink, [&](UOpRef node, ir::Sources& sources) -> UOpRef {
    if (!node->is(Op::Stage) || left_alone.contains(node) || invariant.contains(node)) return nullptr;
    ir::StageInfo info = node->as<ir::StageInfo>();
    UOpRef value = with_cast_inside(g, sources[0]);
    if (!info.forced || info.choice || !value->is(Op::Where) || !is_stored_bool(value->source(0))) return nullptr;
    info.choice = true;
    sources[0] = value;
    return g.make(Op::Stage, node->dtype, sources, info);
  });
}

}  // namespace

UOpRef mark_branches(ir::Graph& g, UOpRef sink, const std::unordered_set<std::size_t>& fixed) {
  UOpRef marked = with_all_marked(g, sink, fixed);
  if (marked == sink) return sink;
  const std::unordered_map<UOpRef, UOpRef> needed = needed_if(g, marked);
  return ir::rebuild(g, marked, [&](UOpRef node, ir::Sources& sources) -> UOpRef {
    if (!is_marked(node)) return nullptr;
    UOpRef value = node->source(0), decides = value->source(0)->source(0)->source(0);
    if (has_something_to_skip(g, value->source(1), {decides, true}, needed) ||
        has_something_to_skip(g, value->source(2), {decides, false}, needed))
      return nullptr;
    ir::StageInfo info = node->as<ir::StageInfo>();
    info.choice = false;
    return g.make(Op::Stage, node->dtype, sources, info);
  });
}

}  // namespace hearth::passes
