// check_limits: refuses a plan that no device, or not the target, can hold or launch, before any kernel is compiled.
#pragma once
#include "absl/status/status.h"
#include "compiler/passes/plan/memory_plan.h"
#include "compiler/target/target.h"

namespace hearth::passes {

// INVALID_ARGUMENT names the buffer or kernel, its size at the variables' upper bounds, and the target's limit.
absl::Status check_limits(const Schedule& schedule, const MemoryPlan& memory, const target::Target& target);

}  // namespace hearth::passes
