// How a plan that came over the wire or out of a file is refused: INVALID_ARGUMENT, "plan: …".
#pragma once
#include "absl/status/status.h"
#include "base/text.h"

namespace hearth::runtime {

template <typename... T>
absl::Status invalid_plan(const T&... what) {
  return absl::InvalidArgumentError(str_cat("plan: ", what...));
}

}  // namespace hearth::runtime
