// The Vulkan devices of this machine, in the loader's order, each with the record of what it can do. Thread-safe.
// Errors: those of vulkan_instance(); a device that cannot be used is listed with the reason.
//
//   absl::StatusOr<std::vector<VulkanDeviceInfo>> devices = vulkan_devices();
#pragma once
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/hal/driver.h"

namespace hearth::runtime {

struct VulkanDeviceInfo : DeviceInfo {
  std::uint32_t index = 0;  // in the loader's order
};

absl::StatusOr<std::vector<VulkanDeviceInfo>> vulkan_devices();

}  // namespace hearth::runtime
