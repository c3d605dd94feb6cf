// The Vulkan devices of this machine as devices of the runtime. "vulkan" is the first that can be used, those with
// memory of their own before others; "vulkan:N" is number N of the loader's list, "vulkan:UUID" and "vulkan:NAME" the
// one with that UUID (hexadecimal, with or without dashes) or name. Nothing is loaded before one is asked for; what was
// made stays. Thread-safe. Errors: NOT_FOUND without loader, driver, or such a device, with what there is;
// FAILED_PRECONDITION with the reason why it cannot be used.
//
//   absl::StatusOr<const Device*> device = find_vulkan_device("1");
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "runtime/hal/device.h"
#include "runtime/hal/vulkan/pipeline_cache.h"
#include "runtime/hal/vulkan/pipeline_trials.h"
#include "runtime/hal/vulkan/vulkan_context.h"
#include "runtime/hal/vulkan/vulkan_memory.h"

namespace hearth::runtime {

struct VulkanOptions {
  EntryPointHook hook = nullptr;  // of tests
  bool always_stage = false;      // as if the host saw nothing of the device's memory: HEARTH_VULKAN_STAGING=1
};

class VulkanDevice final : public Device {
 public:
  VulkanDevice(VulkanDeviceInfo info, VulkanOptions options);
  std::string_view name() const override { return name_; }
  std::string software_name() const override { return info_.type == "cpu" ? info_.name : std::string(); }
  std::vector<std::string> notes() const override;
  v1::Target target(int) const override { return info_.target; }
  bool reaches_host_memory() const override { return false; }
  absl::StatusOr<Buffer> allocate(std::size_t size_bytes, std::string_view what, MemoryUse use) const override;
  absl::Status write(const Buffer& to, std::size_t offset, const void* from, std::size_t size_bytes) const override;
  absl::Status read(const Buffer& from, std::size_t offset, void* to, std::size_t size_bytes) const override;
  absl::StatusOr<std::unique_ptr<Executable>> load(const Plan& plan,
                                                   const std::vector<ArtifactSource>& artifacts) const override;
  const VulkanDeviceInfo& info() const { return info_; }
  PipelineCache::Counts pipelines() const;

 private:
  struct Opened {
    std::shared_ptr<VulkanContext> context;
    std::shared_ptr<VulkanMemory> memory;
    std::unique_ptr<PipelineCache> pipelines;
    std::unique_ptr<PipelineTrials> trials;
  };
  absl::StatusOr<Opened*> opened() const;

  VulkanDeviceInfo info_;
  VulkanOptions options_;
  std::string name_;
  mutable std::mutex mutex_;
  mutable Opened opened_;  // once it is used
};

// `which`: what is behind "vulkan:", or empty.
absl::StatusOr<const Device*> find_vulkan_device(std::string_view which);

}  // namespace hearth::runtime
