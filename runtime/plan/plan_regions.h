// Checks of a plan's parallel regions. Inside runtime/ only.
#pragma once
#include "absl/status/status.h"
#include "runtime/plan/plan.h"

namespace hearth::runtime {

// Fills plan.regions; the launches and loops are there and checked. That units keep to memory of their own is the
// compiler's promise, like what a kernel's machine code does: threads that break it spoil values within the buffers of
// these launches and nothing else.
absl::Status check_regions(const v1::Plan& wire, Plan& plan);

}  // namespace hearth::runtime
