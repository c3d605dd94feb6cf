// The loops of a plan and what their steps see, checked like the rest of it (runtime/plan/plan.h). Inside runtime/
// only.
#pragma once
#include "absl/status/status.h"
#include "runtime/plan/plan.h"

namespace hearth::runtime {

// Fills plan.loops and checks the views; plan.vars and plan.buffers stand, plan.launches do not yet.
absl::Status check_loops(const v1::Plan& wire, Plan& plan);

// The buffers that may lie where `buffer` does: itself, or what a view looks at. A view's stand after check_loops.
std::vector<std::uint32_t> memory_of(const Plan& plan, std::uint32_t buffer);

}  // namespace hearth::runtime
