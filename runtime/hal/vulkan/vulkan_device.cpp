#include "runtime/hal/vulkan/vulkan_device.h"

#include <cstdlib>
#include <map>

#include "base/status_macros.h"
#include "base/text.h"
#include "runtime/hal/gpu/check_target.h"
#include "runtime/hal/gpu/choose_device.h"
#include "runtime/hal/vulkan/vulkan_executable.h"

namespace hearth::runtime {

VulkanDevice::VulkanDevice(VulkanDeviceInfo info, VulkanOptions options)
    : info_(std::move(info)), options_(std::move(options)), name_(str_cat("vulkan:", info_.index)) {}

absl::StatusOr<VulkanDevice::Opened*> VulkanDevice::opened() const {
  const std::lock_guard lock(mutex_);
  if (opened_.context) return &opened_;
  HEARTH_ASSIGN_OR_RETURN(std::shared_ptr<VulkanContext> context, VulkanContext::open(info_, options_.hook));
  opened_.memory = std::make_shared<VulkanMemory>(context, options_.always_stage);
  opened_.pipelines = std::make_unique<PipelineCache>(context);
  opened_.trials = std::make_unique<PipelineTrials>(info_);
  opened_.context = std::move(context);
  return &opened_;
}

std::vector<std::string> VulkanDevice::notes() const {
  std::vector<std::string> notes;
  if (const std::string software = software_name(); !software.empty())
    notes.push_back(str_cat(name_, " is '", software, "', which computes on this host's processors: cpu is faster"));
  if (PipelineTrials::are_missing()) {
    notes.push_back(str_cat("hearth-vulkan-trial is not there: a driver of ", name_,
                            " that crashes while it compiles a kernel takes this process with it; install libhearth0, "
                            "or name the program with HEARTH_VULKAN_TRIAL (0: this is never said)"));
  }
  return notes;
}

absl::StatusOr<Buffer> VulkanDevice::allocate(std::size_t size_bytes, std::string_view what, MemoryUse use) const {
  const absl::StatusOr<Opened*> device = opened();
  return device.ok() ? (*device)->memory->allocate(size_bytes, what, use) : device.status();
}

absl::Status VulkanDevice::write(const Buffer& to, std::size_t offset, const void* from, std::size_t size_bytes) const {
  const absl::StatusOr<Opened*> device = opened();
  return device.ok() ? (*device)->memory->write(to, offset, from, size_bytes) : device.status();
}

absl::Status VulkanDevice::read(const Buffer& from, std::size_t offset, void* to, std::size_t size_bytes) const {
  const absl::StatusOr<Opened*> device = opened();
  return device.ok() ? (*device)->memory->read(from, offset, to, size_bytes) : device.status();
}

absl::StatusOr<std::unique_ptr<Executable>> VulkanDevice::load(const Plan& plan,
                                                               const std::vector<ArtifactSource>& artifacts) const {
  HEARTH_RETURN_IF_ERROR(check_gpu_target(plan.target, info_));
  HEARTH_ASSIGN_OR_RETURN(Opened* const device, opened());
  HEARTH_ASSIGN_OR_RETURN(
      std::unique_ptr<VulkanExecutable> executable,
      VulkanExecutable::load(device->context, device->memory, *device->pipelines, *device->trials, plan, artifacts));
  return std::unique_ptr<Executable>(std::move(executable));
}

PipelineCache::Counts VulkanDevice::pipelines() const {
  const absl::StatusOr<Opened*> device = opened();
  return device.ok() ? (*device)->pipelines->counts() : PipelineCache::Counts{};
}

absl::StatusOr<const Device*> find_vulkan_device(std::string_view which) {
  static std::mutex& mutex = *new std::mutex;
  static auto& devices = *new std::map<std::uint32_t, std::unique_ptr<VulkanDevice>>;  // by number; never destroyed
  HEARTH_ASSIGN_OR_RETURN(const std::vector<VulkanDeviceInfo> infos, vulkan_devices());
  HEARTH_ASSIGN_OR_RETURN(const std::size_t chosen,
                          choose_device({infos.begin(), infos.end()}, "vulkan", "Vulkan", which));
  const VulkanDeviceInfo& info = infos[chosen];
  if (!info.unusable.empty())
    return absl::FailedPreconditionError(str_cat("device 'vulkan:", which, "', ", info.name, ": ", info.unusable));
  const std::lock_guard lock(mutex);
  std::unique_ptr<VulkanDevice>& device = devices[info.index];
  if (!device) {
    const char* const staging = std::getenv("HEARTH_VULKAN_STAGING");
    device = std::make_unique<VulkanDevice>(
        info, VulkanOptions{.always_stage = staging != nullptr && std::string_view(staging) == "1"});
  }
  return device.get();
}

}  // namespace hearth::runtime
