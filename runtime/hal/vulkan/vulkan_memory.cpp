#include "runtime/hal/vulkan/vulkan_memory.h"

#include <algorithm>
#include <cstring>

#include "base/status_macros.h"
#include "base/text.h"

namespace hearth::runtime {
namespace {

// Large enough that a copy's start does not count, small enough to keep.
constexpr std::size_t kStagingBytes = std::size_t{4} << 20;

constexpr VkMemoryPropertyFlags kVisible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;

}  // namespace

struct VulkanMemory::Block {
  explicit Block(std::shared_ptr<const VulkanContext> of) : context(std::move(of)) {}
  Block(const Block&) = delete;
  ~Block() {
    if (context->is_abandoned()) return;
    const VolkDeviceTable& table = context->table();
    if (buffer != VK_NULL_HANDLE) table.vkDestroyBuffer(context->device(), buffer, nullptr);
    if (memory != VK_NULL_HANDLE) table.vkFreeMemory(context->device(), memory, nullptr);  // and unmaps it
  }
  std::shared_ptr<const VulkanContext> context;
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
};

// What the host reads lies where it does so fast, if there is a choice; what is the device's own, on the device, and
// mapped where all of that memory can be. What the host writes lies there too: kernels read it again and again, and
// five times more slowly over a bus.
absl::StatusOr<std::uint32_t> VulkanMemory::choose_type(std::uint32_t allowed, MemoryUse use) const {
  constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
                                  kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  std::vector<VkMemoryPropertyFlags> wishes = {kVisible | kCached | kLocal, kVisible | kCached, kVisible};
  if (use == MemoryUse::kDevice) wishes = {kLocal, 0};
  if (use != MemoryUse::kShared && context_->info().has_host_visible_memory && !always_stage_)
    wishes.insert(wishes.begin(), kLocal | kVisible);
  const VkPhysicalDeviceMemoryProperties& memory = context_->memory();
  for (const VkMemoryPropertyFlags wish : wishes) {
    for (std::uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
      if ((allowed >> i & 1) != 0 && (memory.memoryTypes[i].propertyFlags & wish) == wish) return i;
    }
  }
  return absl::FailedPreconditionError(str_cat(context_->info().name, ": it has no memory that the host sees"));
}

absl::StatusOr<Buffer> VulkanMemory::make(std::size_t size_bytes, std::string_view what, MemoryUse use) {
  const VolkDeviceTable& table = context_->table();
  const VkDevice device = context_->device();
  const std::uint64_t most = context_->info().target.gpu().max_buffer_bytes();
  if (size_bytes > most) {
    return absl::ResourceExhaustedError(str_cat("cannot allocate ", size_bytes, " bytes for ", what, ": ",
                                                context_->info().name, " allocates at most ", most, " bytes at once"));
  }
  auto block = std::make_shared<Block>(context_);
  const auto failed = [&](const absl::Status& status) {
    return absl::Status(status.code(),
                        str_cat("cannot allocate ", size_bytes, " bytes for ", what, ": ", status.message()));
  };
  const VkBufferCreateInfo create = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = aligned_size(std::max<std::size_t>(size_bytes, 1)),
                                     .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                              VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                                              VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT};
  absl::Status status =
      context_->check(table.vkCreateBuffer(device, &create, nullptr, &block->buffer), "vkCreateBuffer");
  if (!status.ok()) return failed(status);
  VkMemoryRequirements needs;
  table.vkGetBufferMemoryRequirements(device, block->buffer, &needs);
  const absl::StatusOr<std::uint32_t> type = choose_type(needs.memoryTypeBits, use);
  if (!type.ok()) return failed(type.status());
  const VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                           .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
  const VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                         .pNext = &flags,
                                         .allocationSize = needs.size,
                                         .memoryTypeIndex = *type};
  status = context_->check(table.vkAllocateMemory(device, &allocate, nullptr, &block->memory), "vkAllocateMemory");
  if (!status.ok()) return failed(status);
  status = context_->check(table.vkBindBufferMemory(device, block->buffer, block->memory, 0), "vkBindBufferMemory");
  if (!status.ok()) return failed(status);
  void* data = nullptr;
  const VkMemoryPropertyFlags has = context_->memory().memoryTypes[*type].propertyFlags;
  if (use != MemoryUse::kDevice || (!always_stage_ && (has & kVisible) == kVisible)) {
    status = context_->check(table.vkMapMemory(device, block->memory, 0, VK_WHOLE_SIZE, 0, &data), "vkMapMemory");
    if (!status.ok()) return failed(status);
  }
  const VkBufferDeviceAddressInfo asked = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                           .buffer = block->buffer};
  const VkDeviceAddress address = table.vkGetBufferDeviceAddress(device, &asked);
  return Buffer(data, reinterpret_cast<void*>(address), size_bytes, std::move(block));
}

absl::StatusOr<Buffer> VulkanMemory::allocate(std::size_t size_bytes, std::string_view what, MemoryUse use) {
  HEARTH_RETURN_IF_ERROR(context_->check_usable());
  absl::StatusOr<Buffer> made = make(size_bytes, what, use);
  HEARTH_RETURN_IF_ERROR(made.status());
  HEARTH_RETURN_IF_ERROR(clear(*made));
  return made;
}

absl::Status VulkanMemory::make_staging() {
  if (staging_.data() != nullptr) return absl::OkStatus();
  HEARTH_ASSIGN_OR_RETURN(VulkanSemaphore done, make_timeline(context_));
  HEARTH_ASSIGN_OR_RETURN(VulkanCommands commands, make_commands(context_));
  HEARTH_ASSIGN_OR_RETURN(Buffer staging, make(kStagingBytes, "copies to and from the device", MemoryUse::kShared));
  done_ = std::move(done);
  commands_ = std::move(commands);
  staging_ = std::move(staging);
  return absl::OkStatus();
}

template <typename Record>
absl::Status VulkanMemory::run(const Record& record) {
  HEARTH_RETURN_IF_ERROR(make_staging());
  const VolkDeviceTable& table = context_->table();
  const VkResult reset = table.vkResetCommandPool(context_->device(), commands_.pool.get(), 0);
  HEARTH_RETURN_IF_ERROR(context_->check(reset, "vkResetCommandPool"));
  const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                          .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
  absl::Status status = context_->check(table.vkBeginCommandBuffer(commands_.buffer, &begin), "vkBeginCommandBuffer");
  if (!status.ok()) return status;
  record(table, commands_.buffer);
  const VkMemoryBarrier2 barrier = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
      .srcStageMask = VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT,
      .srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT,
      .dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_2_HOST_BIT,
      .dstAccessMask = VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT | VK_ACCESS_2_HOST_READ_BIT};
  const VkDependencyInfo dependency = {
      .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .memoryBarrierCount = 1, .pMemoryBarriers = &barrier};
  table.vkCmdPipelineBarrier2(commands_.buffer, &dependency);
  status = context_->check(table.vkEndCommandBuffer(commands_.buffer), "vkEndCommandBuffer");
  if (!status.ok()) return status;
  if (status = context_->submit(commands_.buffer, done_.get(), ++runs_); !status.ok()) {
    --runs_;
    return status;
  }
  return context_->wait(done_.get(), runs_);
}

absl::Status VulkanMemory::clear(const Buffer& buffer) {
  if (buffer.data() != nullptr) {
    std::memset(buffer.data(), 0, buffer.size_bytes());
    return absl::OkStatus();
  }
  const std::lock_guard lock(mutex_);
  return run([&](const VolkDeviceTable& table, VkCommandBuffer commands) {
    table.vkCmdFillBuffer(commands, static_cast<const Block*>(buffer.owner())->buffer, 0, VK_WHOLE_SIZE, 0);
  });
}

absl::Status VulkanMemory::write(const Buffer& to, std::size_t offset, const void* from, std::size_t size_bytes) {
  HEARTH_RETURN_IF_ERROR(context_->check_usable());
  if (to.data() != nullptr) {
    if (size_bytes > 0) std::memcpy(static_cast<char*>(to.data()) + offset, from, size_bytes);
    return absl::OkStatus();
  }
  const std::lock_guard lock(mutex_);
  HEARTH_RETURN_IF_ERROR(make_staging());
  for (std::size_t at = 0; at < size_bytes; at += kStagingBytes) {
    const std::size_t size = std::min(size_bytes - at, kStagingBytes);
    std::memcpy(staging_.data(), static_cast<const char*>(from) + at, size);
    const absl::Status ran = run([&](const VolkDeviceTable& table, VkCommandBuffer commands) {
      const VkBufferCopy copy = {.srcOffset = 0, .dstOffset = offset + at, .size = size};
      table.vkCmdCopyBuffer(commands, static_cast<const Block*>(staging_.owner())->buffer,
                            static_cast<const Block*>(to.owner())->buffer, 1, &copy);
    });
    if (!ran.ok()) return ran;
  }
  return absl::OkStatus();
}

absl::Status VulkanMemory::read(const Buffer& from, std::size_t offset, void* to, std::size_t size_bytes) {
  HEARTH_RETURN_IF_ERROR(context_->check_usable());
  if (from.data() != nullptr) {
    if (size_bytes > 0) std::memcpy(to, static_cast<const char*>(from.data()) + offset, size_bytes);
    return absl::OkStatus();
  }
  const std::lock_guard lock(mutex_);
  HEARTH_RETURN_IF_ERROR(make_staging());
  for (std::size_t at = 0; at < size_bytes; at += kStagingBytes) {
    const std::size_t size = std::min(size_bytes - at, kStagingBytes);
    const absl::Status ran = run([&](const VolkDeviceTable& table, VkCommandBuffer commands) {
      const VkBufferCopy copy = {.srcOffset = offset + at, .dstOffset = 0, .size = size};
      table.vkCmdCopyBuffer(commands, static_cast<const Block*>(from.owner())->buffer,
                            static_cast<const Block*>(staging_.owner())->buffer, 1, &copy);
    });
    if (!ran.ok()) return ran;
    std::memcpy(static_cast<char*>(to) + at, staging_.data(), size);
  }
  return absl::OkStatus();
}

}  // namespace hearth::runtime
