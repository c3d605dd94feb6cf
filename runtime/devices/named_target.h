// Target records by name: of this host's devices, and fixed ones that say what kernels may use on machines that are not
// at hand (Driver::targets). A fixed record is the same on every machine and in every process of a version.
// Thread-safe.
//
//   absl::StatusOr<v1::Target> target = named_target("vulkan:lavapipe");
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "hearth/v1/artifact.pb.h"

namespace hearth::runtime {

// "cpu", "null" (this host's), "cpu:x86-64-v3", "cpu:x86-64-v4", "cpu:armv8.2-a", "vulkan:lavapipe" (Mesa's software
// driver in Debian 12), "vulkan:minimal" (what every Vulkan 1.3 device with buffer addresses can do).
std::vector<std::string> target_names();

// NotFound lists the names.
absl::StatusOr<v1::Target> named_target(std::string_view name);

}  // namespace hearth::runtime
