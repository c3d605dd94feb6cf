// The Vulkan loader of this machine (libvulkan.so.1), opened when it is first asked for and kept as long as the process
// lives, with one VkInstance. HEARTH_VULKAN_VALIDATION=1 asks for the validation layer, whose messages fail the next
// call that looks (VulkanContext::check). Thread-safe. Errors: NOT_FOUND without a loader, or without the layer that
// was asked for; UNAVAILABLE with what the loader says.
//
//   absl::StatusOr<VkInstance> instance = vulkan_instance();   // from then on volk's instance functions may be called
#pragma once
#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <volk.h>

#include <string>

#include "absl/status/statusor.h"

namespace hearth::runtime {

absl::StatusOr<VkInstance> vulkan_instance();

// What the validation layer said since it was asked last, a line each; without it nothing.
std::string take_validation_messages();

// "VK_ERROR_DEVICE_LOST", or the number of what has no name here.
std::string to_string(VkResult result);

}  // namespace hearth::runtime
