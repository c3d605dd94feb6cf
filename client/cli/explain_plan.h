// What `hearth explain` says of a plan file: no daemon is asked, nothing is loaded. Errors: read_plan_file's.
#pragma once
#include <string>

#include "absl/status/statusor.h"

namespace hearth::cli {

absl::StatusOr<int> explain_plan_file(const std::string& path, bool json);

}  // namespace hearth::cli
