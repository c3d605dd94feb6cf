// Where a device that may run launches at the same time has to wait: in front of which launches of a program those
// before them must have ended, because one reads or stores what another stores. Follows from the plan alone: from which
// slots a kernel stores to, and where the arena has its buffers; so it holds for all values, and whatever is bound. No
// errors; thread-safe.
//
//   std::vector<bool> waits = barriers(plan, launches);   // indices into plan.launches, in the order of running
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/plan/plan.h"

namespace hearth::runtime {

std::vector<bool> barriers(const Plan& plan, std::span<const std::uint32_t> launches);

}  // namespace hearth::runtime
