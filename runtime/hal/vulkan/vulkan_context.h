// VulkanContext: one device of the machine as this process uses it: its VkDevice, its queue for compute work, its table
// of entry points, and what all programs share. Made when the device is first used, kept as long as anything of it
// lives. Thread-safe; the queue's lock is the only one that a run takes.
// Errors: FAILED_PRECONDITION where the device cannot be used or the process was forked since; UNAVAILABLE once the
// device is lost; RESOURCE_EXHAUSTED, DEADLINE_EXCEEDED, INTERNAL as runtime/hal/program.h has them, each naming the
// entry point and what it gave.
//
//   absl::StatusOr<std::shared_ptr<VulkanContext>> context = VulkanContext::open(info, nullptr);
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/hal/gpu/device_state.h"
#include "runtime/hal/vulkan/vulkan_devices.h"
#include "runtime/hal/vulkan/vulkan_instance.h"

namespace hearth::runtime {

// Changes entry points before anything calls them, for tests.
using EntryPointHook = std::function<void(VolkDeviceTable&)>;

class VulkanContext {
 public:
  static absl::StatusOr<std::shared_ptr<VulkanContext>> open(const VulkanDeviceInfo& info, const EntryPointHook& hook);
  ~VulkanContext();
  VulkanContext(const VulkanContext&) = delete;
  VulkanContext& operator=(const VulkanContext&) = delete;

  const VulkanDeviceInfo& info() const { return info_; }
  VkDevice device() const { return device_; }
  const VolkDeviceTable& table() const { return table_; }
  std::uint32_t queue_family() const { return family_; }
  VkPipelineLayout pipeline_layout() const { return layout_; }
  const VkPhysicalDeviceMemoryProperties& memory() const { return memory_; }
  // What a tick of its timestamps takes; 0: its queue has none.
  double timestamp_ns() const { return timestamp_ns_; }

  // OK for VK_SUCCESS. `what` is the entry point, or what it was called for.
  absl::Status check(VkResult result, std::string_view what) const;
  // Before anything else of the device: whether it was lost, is stuck, or belongs to another process.
  absl::Status check_usable() const { return state_.check_usable(); }
  // Whether nothing may be destroyed any more: it may still be in use, or is another process's.
  bool is_abandoned() const { return state_.is_abandoned(); }

  // `semaphore`, a timeline's, becomes `value` when `commands` are done.
  absl::Status submit(VkCommandBuffer commands, VkSemaphore semaphore, std::uint64_t value) const;
  // DEADLINE_EXCEEDED after HEARTH_DEVICE_TIMEOUT_MS, else two minutes: the device counts as stuck from then on.
  absl::Status wait(VkSemaphore semaphore, std::uint64_t value) const;

  // For people who look at it with a debugger or the validation layer.
  void set_name(VkObjectType type, std::uint64_t handle, const std::string& name) const;

 private:
  explicit VulkanContext(const VulkanDeviceInfo& info) : info_(info), state_(info.name) {}
  absl::Status make_device(VkPhysicalDevice physical, const EntryPointHook& hook);
  absl::Status find_queue(VkPhysicalDevice physical);

  VulkanDeviceInfo info_;
  const DeviceState state_;
  VkDevice device_ = VK_NULL_HANDLE;
  VolkDeviceTable table_ = {};
  std::uint32_t family_ = 0;
  double timestamp_ns_ = 0;
  VkPhysicalDeviceMemoryProperties memory_ = {};
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  mutable std::mutex queue_mutex_;
};

// An object of a context's device, destroyed with `Destroy`, an entry point. Move-only.
template <typename Handle, auto Destroy>
class VulkanObject {
 public:
  VulkanObject() = default;
  VulkanObject(std::shared_ptr<const VulkanContext> context, Handle handle)
      : context_(std::move(context)), handle_(handle) {}
  VulkanObject(VulkanObject&& other) noexcept { swap(other); }
  VulkanObject& operator=(VulkanObject&& other) noexcept {
    swap(other);
    return *this;
  }
  ~VulkanObject() {
    if (handle_ == VK_NULL_HANDLE || context_->is_abandoned()) return;
    (context_->table().*Destroy)(context_->device(), handle_, nullptr);
  }
  Handle get() const { return handle_; }

 private:
  void swap(VulkanObject& other) {
    std::swap(context_, other.context_);
    std::swap(handle_, other.handle_);
  }
  std::shared_ptr<const VulkanContext> context_;
  Handle handle_ = VK_NULL_HANDLE;
};

using VulkanSemaphore = VulkanObject<VkSemaphore, &VolkDeviceTable::vkDestroySemaphore>;
using VulkanCommandPool = VulkanObject<VkCommandPool, &VolkDeviceTable::vkDestroyCommandPool>;
using VulkanPipeline = VulkanObject<VkPipeline, &VolkDeviceTable::vkDestroyPipeline>;
using VulkanQueryPool = VulkanObject<VkQueryPool, &VolkDeviceTable::vkDestroyQueryPool>;

absl::StatusOr<VulkanSemaphore> make_timeline(const std::shared_ptr<const VulkanContext>& context);

// A pool with command buffers, which go with it.
struct VulkanCommands {
  VulkanCommandPool pool;
  VkCommandBuffer buffer = VK_NULL_HANDLE;
};
absl::StatusOr<VulkanCommands> make_commands(const std::shared_ptr<const VulkanContext>& context);

}  // namespace hearth::runtime
