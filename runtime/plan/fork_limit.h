// Reading of how many units of a launch or region are worth a thread. Inside runtime/ only.
#pragma once
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "runtime/plan/plan.h"

namespace hearth::runtime {

// `at`: null where the number holds for all values of the variables. A `once` launch has no variables.
absl::Status parse_fork_limit(std::uint64_t number, const v1::Expr* at, const Plan& plan, bool once,
                              const std::string& place, ForkLimit& limit);

}  // namespace hearth::runtime
