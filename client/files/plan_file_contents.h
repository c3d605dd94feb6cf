// What a plan file says of itself: its kernels are not loaded, its other sections not read. For tools. Thread-safe.
// Errors: load_plan's (hearth/plan_file.h), of the manifest and the plan.
//
//   absl::StatusOr<PlanFileContents> contents = read_plan_file("model.hearth");
#pragma once
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "hearth/v1/plan.pb.h"
#include "hearth/v1/plan_file.pb.h"

namespace hearth::client {

struct PlanFileContents {
  std::uint64_t file_bytes = 0;
  v1::PlanFileManifest manifest;
  v1::Plan plan;  // checked as runtime/plan/plan.h does
};
absl::StatusOr<PlanFileContents> read_plan_file(const std::string& path);

}  // namespace hearth::client
