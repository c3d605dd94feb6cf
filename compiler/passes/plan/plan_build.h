// plan: schedule -> v1::Plan (kernels' artifacts still unset) and the canonical kernels to compile.
#pragma once
#include "compiler/passes/import/import.h"
#include "compiler/passes/plan/memory_plan.h"
#include "compiler/target/target.h"
#include "hearth/v1/worker.pb.h"

namespace hearth::passes {

// A length as readers of plans take it, who look at bounds alone: one that only a proof shows not to be negative says
// so itself.
v1::Expr export_length(ir::UOpRef length);

// What a plan is made of.
struct PlanParts {
  const Schedule& schedule;
  const MemoryPlan& memory;
  const ImportedGraph& imported;
  const v1::Graph& graph;  // as it came
};

// `g`: that the schedule's lengths are of.
v1::LoweredPlan build_plan(ir::Graph& g, const PlanParts& parts, const target::Target& target);

}  // namespace hearth::passes
