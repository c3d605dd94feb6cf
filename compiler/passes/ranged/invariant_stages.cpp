#include "compiler/passes/ranged/invariant_stages.h"

#include <algorithm>

#include "compiler/passes/ranged/stage_facts.h"
#include "compiler/passes/ranged/stages.h"

namespace hearth::passes {

using ir::Op;
using ir::UOpRef;

InvariantStages::InvariantStages(UOpRef sink) {
  for (UOpRef stage : stages_in_order(sink)) add(stage, passes::contains(sink->sources, stage));
}

void InvariantStages::add(UOpRef stage, bool is_output) {
  is_invariant_[stage] =
      !is_output && !stage->source(0)->is(Op::Loop) && std::ranges::all_of(stage_body(stage), [this](UOpRef x) {
        return !x->is(Op::Var) && (!x->is(Op::Index) || contains(x->source(0)));
      });
}

bool InvariantStages::contains(UOpRef buffer) const {
  if (buffer->is(Op::Stage)) return is_invariant_.at(buffer);
  return buffer->as<ir::BufferInfo>().kind != ir::BufferKind::Input;
}

}  // namespace hearth::passes
