// is_sound(): whether a plan of another node has all its kernels, and launches no other. A stranger to this build could
// not have signed it; a writer of a broken one might.
//
//   if (!is_sound(plan, artifacts)) return unusable();
#pragma once
#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

#include "hearth/v1/plan.pb.h"

namespace hearth::daemon {

// `artifacts`: digests of those that came with it.
inline bool is_sound(const v1::Plan& plan, const std::set<std::string>& artifacts) {
  const auto is_there = [&](const v1::PlanKernel& kernel) {
    return kernel.artifact().empty() || artifacts.contains(kernel.artifact());
  };
  const auto is_in_range = [&](const v1::Launch& launch) {
    return launch.kernel() < static_cast<std::uint32_t>(plan.kernels_size());
  };
  return std::ranges::all_of(plan.kernels(), is_there) && std::ranges::all_of(plan.launches(), is_in_range);
}

}  // namespace hearth::daemon
