#include "runtime/plan/plan_regions.h"

#include <algorithm>

#include "base/text.h"
#include "runtime/plan/fork_limit.h"
#include "runtime/plan/invalid_plan.h"

namespace hearth::runtime {
namespace {

// The loop that a launch is a part of; null for none.
const PlanLoop* loop_of(const Plan& plan, std::uint64_t launch) {
  const auto found = std::ranges::find_if(plan.loops, [launch](const PlanLoop& loop) {
    return launch >= loop.first_launch && launch - loop.first_launch < loop.num_launches;
  });
  return found == plan.loops.end() ? nullptr : &*found;
}

}  // namespace

absl::Status check_regions(const v1::Plan& wire, Plan& plan) {
  std::uint64_t end = 0;
  for (int i = 0; i < wire.regions_size(); ++i) {
    const v1::ParallelRegion& from = wire.regions(i);
    const std::string place = str_cat("region ", i);
    const std::uint64_t first = from.first_launch();
    if (first < end || from.num_launches() == 0 ||
        first + from.num_launches() > static_cast<std::uint64_t>(wire.launches_size())) {
      return invalid_plan(place, ": launches [", first, ", +", from.num_launches(), ") do not lie behind those of the ",
                          "region before and within the plan's ", wire.launches_size());
    }
    end = first + from.num_launches();
    const std::string grid = wire.launches(static_cast<int>(first)).grid().SerializeAsString();
    for (std::uint64_t launch = first; launch < end; ++launch) {
      const v1::Launch& part = wire.launches(static_cast<int>(launch));
      if (part.once()) return invalid_plan(place, ": launch ", launch, " is a once launch, which no region has");
      if (part.grid().SerializeAsString() != grid)
        return invalid_plan(place, ": launch ", launch, " has another grid than launch ", first);
      if (loop_of(plan, launch) != loop_of(plan, first))
        return invalid_plan(place, ": launches ", first, " and ", launch, " are not parts of one loop");
    }
    PlanRegion region = {from.first_launch(), from.num_launches(), {}};
    const v1::Expr* at = from.has_min_units_at() ? &from.min_units_at() : nullptr;
    const absl::Status fork =
        parse_fork_limit(from.min_units_per_thread(), at, plan, /*once=*/false, place, region.fork);
    if (!fork.ok()) return fork;
    plan.regions.push_back(std::move(region));
  }
  return absl::OkStatus();
}

}  // namespace hearth::runtime
