// What `hearth inspect` says of a plan file: its inputs, outputs, variables and memory, and whether it runs here.
// Errors: read_plan_file's.
#pragma once
#include <string>

#include "absl/status/statusor.h"

namespace hearth::cli {

absl::StatusOr<int> inspect_plan_file(const std::string& path, bool json);

}  // namespace hearth::cli
