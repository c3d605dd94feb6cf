// Memory of a Vulkan device: buffers with an address for kernels, and copies into and out of those that the host does
// not see, through a small buffer that it does. Thread-safe. Errors: RESOURCE_EXHAUSTED naming what it was for, the
// sizes and the limit; those of VulkanContext.
//
//   absl::StatusOr<Buffer> arena = memory.allocate(bytes, "the arena", MemoryUse::kDevice);
#pragma once
#include <memory>
#include <mutex>

#include "runtime/hal/device.h"
#include "runtime/hal/vulkan/vulkan_context.h"
#include "runtime/memory/buffer.h"

namespace hearth::runtime {

class VulkanMemory {
 public:
  // `always_stage`: as if the host saw nothing of the device's own memory.
  VulkanMemory(std::shared_ptr<const VulkanContext> context, bool always_stage)
      : context_(std::move(context)), always_stage_(always_stage) {}

  absl::StatusOr<Buffer> allocate(std::size_t size_bytes, std::string_view what, MemoryUse use);
  absl::Status write(const Buffer& to, std::size_t offset, const void* from, std::size_t size_bytes);
  absl::Status read(const Buffer& from, std::size_t offset, void* to, std::size_t size_bytes);

 private:
  struct Block;  // a VkBuffer with its memory
  absl::StatusOr<Buffer> make(std::size_t size_bytes, std::string_view what, MemoryUse use);
  absl::StatusOr<std::uint32_t> choose_type(std::uint32_t allowed, MemoryUse use) const;
  absl::Status make_staging();
  absl::Status clear(const Buffer& buffer);
  // `record` puts commands into a buffer that is then run, alone.
  template <typename Record>
  absl::Status run(const Record& record);

  std::shared_ptr<const VulkanContext> context_;
  bool always_stage_;
  std::mutex mutex_;  // of all below
  Buffer staging_;
  VulkanCommands commands_;
  VulkanSemaphore done_;
  std::uint64_t runs_ = 0;
};

}  // namespace hearth::runtime
