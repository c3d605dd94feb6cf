#include "runtime/plan/fork_limit.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/text.h"
#include "runtime/plan/invalid_plan.h"

namespace hearth::runtime {

absl::Status parse_fork_limit(std::uint64_t number, const v1::Expr* at, const Plan& plan, bool once,
                              const std::string& place, ForkLimit& limit) {
  if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return invalid_plan(place, ": min_units_per_thread ", number, " is out of range");
  limit.min_units = std::max<std::int64_t>(1, static_cast<std::int64_t>(number));
  if (at == nullptr) return absl::OkStatus();
  absl::StatusOr<Expr> parsed = Expr::compile(*at, plan.vars);
  if (!parsed.ok()) return invalid_plan(place, ": min_units_at: ", std::string(parsed.status().message()));
  if (once && !parsed->is_const()) return invalid_plan(place, ": min_units_at of a once launch depends on a variable");
  limit.at = *std::move(parsed);
  return absl::OkStatus();
}

}  // namespace hearth::runtime
