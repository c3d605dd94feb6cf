// Entry points of a Vulkan device that count their calls, and fail when told to. Of this process; not thread-safe
// beyond counting. A hook for VulkanDevice (runtime/hal/vulkan/vulkan_device.h).
//
//   VulkanDevice device(info, {.hook = EntryPoints::install});
//   EntryPoints::fail("vkQueueSubmit2", /*after=*/0, VK_ERROR_DEVICE_LOST);
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/hal/vulkan/vulkan_context.h"

namespace hearth::testing {

class EntryPoints {
 public:
  static void install(VolkDeviceTable& table);
  // Nothing was called, nothing fails. What lives still counts.
  static void reset();

  // Those that may fail, of which something was or will be called.
  static std::vector<std::string> names();
  static std::uint64_t calls(const std::string& name);
  // Of all whose name begins so.
  static std::uint64_t calls_of(const std::string& beginning);
  // The call after `after` others gives `result` and does nothing else; but a device that is lost does no more work, so
  // that a wait which finds it lost waits for what was begun.
  static void fail(const std::string& name, std::uint64_t after, VkResult result);
  // Whether that call came.
  static bool has_failed();
  // Objects that were created and not destroyed.
  static std::int64_t alive();
  // Time in entry points since reset().
  static double spent_us();
  // Greatest number of workgroups that a dispatch had.
  static std::uint32_t most_groups();
};

}  // namespace hearth::testing
