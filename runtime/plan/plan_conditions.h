// Checks of the conditions under which a plan's launches are run. Inside runtime/ only.
#pragma once
#include "absl/status/status.h"
#include "runtime/plan/plan.h"

namespace hearth::runtime {

// Fills PlanLaunch::run_if; buffers, launches, loops and regions are there and checked. That a bool is made before the
// launches that ask for it is the compiler's promise: one that is not has the value of the replay before.
absl::Status check_conditions(const v1::Plan& wire, Plan& plan);

}  // namespace hearth::runtime
