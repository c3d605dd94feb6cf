// How often a plan's launches are run. Of any plan, checked or not.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "hearth/v1/plan.pb.h"

namespace hearth {

// By launch: runs in one replay at the variables' upper bounds (of a `once` launch: when the plan is prepared).
inline std::vector<std::uint64_t> launch_runs(const v1::Plan& plan) {
  std::vector<std::uint64_t> runs(static_cast<std::size_t>(plan.launches_size()), 1);
  for (const v1::PlanLoop& loop : plan.loops()) {
    const std::size_t first = std::min<std::size_t>(loop.first_launch(), runs.size());
    const std::size_t last = std::min<std::size_t>(first + loop.num_launches(), runs.size());
    std::fill(runs.begin() + static_cast<std::ptrdiff_t>(first), runs.begin() + static_cast<std::ptrdiff_t>(last),
              loop.max_count());
  }
  return runs;
}

}  // namespace hearth
