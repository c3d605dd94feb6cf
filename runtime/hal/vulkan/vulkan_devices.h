// The Vulkan devices of this machine, in the loader's order, each with the record of what it can do. Thread-safe.
// Errors: those of vulkan_instance(); a device that cannot be used is listed with the reason.
//
//   absl::StatusOr<std::vector<VulkanDeviceInfo>> devices = vulkan_devices();
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hearth/v1/artifact.pb.h"

namespace hearth::runtime {

struct VulkanDeviceInfo {
  std::uint32_t index = 0;  // in the loader's order
  std::string name;         // as the driver says
  std::string uuid;         // 16 bytes, the same in every process and after a restart
  std::string driver, driver_version;
  std::string api_version;               // "1.3.230"
  std::string type;                      // "discrete", "integrated", "virtual", "cpu", "other"
  std::uint64_t memory_bytes = 0;        // of its largest heap of memory of its own
  bool has_host_visible_memory = false;  // all of that can be mapped
  v1::Target target;                     // what plans for it are compiled for
  std::string unusable;                  // why plans cannot run on it; empty: they can
};

absl::StatusOr<std::vector<VulkanDeviceInfo>> vulkan_devices();

}  // namespace hearth::runtime
