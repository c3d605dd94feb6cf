// EmittedPlan: a prepared plan as files, for people and programs that look at code or bring a runtime of their own: the
// final code of every kernel, the bytes of constants, and manifest.json, which says what is launched on what. The
// manifest is written last: a folder that has one is whole. Errors: status naming the file or the kernel.
//
//   absl::Status written = write_emitted(emitted, "out");   // out/000_r_8_16384.spv, …, out/manifest.json
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hearth/v1/plan.pb.h"

namespace hearth::cli {

struct EmittedPlan {
  std::string model;               // as the user named it
  v1::Plan plan;                   // checked (runtime::parse_plan)
  std::vector<std::string> codes;  // by kernel; of the null device the linear kernel as text
};

// INVALID_ARGUMENT unless `folder` is not there or has nothing in it.
absl::Status check_output_dir(const std::string& folder);

// Makes the folder.
absl::Status write_emitted(const EmittedPlan& emitted, const std::string& folder);

// The manifest; docs/targets.md says what its fields mean.
absl::StatusOr<nlohmann::ordered_json> manifest_json(const EmittedPlan& emitted);

}  // namespace hearth::cli
