#include "runtime/plan/plan_conditions.h"

#include <algorithm>

#include "base/status_macros.h"
#include "base/text.h"
#include "proto/versions.h"
#include "runtime/plan/invalid_plan.h"

namespace hearth::runtime {
namespace {

constexpr int kMaxConditions = 1 << 10;  // of a launch: ifs within ifs

bool is_single_bool(const PlanBuffer& buffer) {
  return buffer.dtype == DType::kBool && buffer.max_bytes > 0 && !buffer.view && !buffer.in_place &&
         std::ranges::all_of(buffer.shape, [](const Expr& length) { return length.is_const() && length.max() == 1; });
}

absl::Status check_launch(std::size_t number, const v1::Plan& wire, Plan& plan) {
  const auto& conditions = wire.launches(static_cast<int>(number)).run_if();
  const std::string place = str_cat("launch ", number);
  if (wire.version() < kConditionalPlanVersion || plan.target.has_gpu())
    return invalid_plan(place, ": a condition in a plan of version ", wire.version(), " for device '",
                        plan.target.device(), "'");
  const auto has_it = [&](const auto& group) {
    return number >= group.first_launch && number - group.first_launch < group.num_launches;
  };
  if (plan.launches[number].once || std::ranges::any_of(plan.loops, has_it) ||
      std::ranges::any_of(plan.regions, has_it))
    return invalid_plan(place, ": a condition of a once launch, or within a loop or a region");
  if (conditions.size() > kMaxConditions) return invalid_plan(place, ": more than ", kMaxConditions, " conditions");
  for (const v1::LaunchCondition& condition : conditions) {
    if (condition.buffer() >= plan.buffers.size())
      return invalid_plan(place, ": the condition's buffer ", condition.buffer(), " does not exist; the plan has ",
                          plan.buffers.size());
    if (!is_single_bool(plan.buffers[condition.buffer()]))
      return invalid_plan(place, ": the condition's buffer ", condition.buffer(),
                          " is no single bool in memory of its own");
    plan.launches[number].run_if.push_back({condition.buffer(), condition.value()});
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status check_conditions(const v1::Plan& wire, Plan& plan) {
  for (std::size_t i = 0; i < plan.launches.size(); ++i) {
    if (!wire.launches(static_cast<int>(i)).run_if().empty()) HEARTH_RETURN_IF_ERROR(check_launch(i, wire, plan));
  }
  return absl::OkStatus();
}

}  // namespace hearth::runtime
