#include "runtime/hal/device.h"

#include <cstring>

#include "base/text.h"
#include "runtime/hal/cpu/cpu_device.h"
#include "runtime/hal/null/null_device.h"
#include "runtime/hal/vulkan/vulkan_device.h"

namespace hearth::runtime {

absl::Status Device::write(const Buffer& to, std::size_t offset, const void* from, std::size_t size_bytes) const {
  if (size_bytes > 0) std::memcpy(static_cast<char*>(to.data()) + offset, from, size_bytes);
  return absl::OkStatus();
}

absl::Status Device::read(const Buffer& from, std::size_t offset, void* to, std::size_t size_bytes) const {
  if (size_bytes > 0) std::memcpy(to, static_cast<const char*>(from.data()) + offset, size_bytes);
  return absl::OkStatus();
}

absl::StatusOr<const Device*> find_device(std::string_view name) {
  static const CpuDevice cpu;
  static const NullDevice null;
  if (name == "cpu") return &cpu;
  if (name == "null") return &null;
  if (name == "vulkan") return find_vulkan_device("");
  if (name.substr(0, 7) == "vulkan:") return find_vulkan_device(name.substr(7));
  return absl::NotFoundError(str_cat("device '", name, "' is unknown; this build has: cpu, null, vulkan"));
}

}  // namespace hearth::runtime
