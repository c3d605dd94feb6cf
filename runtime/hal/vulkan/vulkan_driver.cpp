#include "runtime/hal/vulkan/vulkan_driver.h"

#include <initializer_list>

#include "base/kernel_abi.h"
#include "base/status_macros.h"
#include "runtime/hal/vulkan/software_device.h"
#include "runtime/hal/vulkan/vulkan_device.h"

namespace hearth::runtime {
namespace {

struct GpuLevel {
  std::uint32_t subgroup_size, max_workgroup_invocations, workgroup_size, shared_bytes;
  std::uint64_t max_buffer_bytes, max_loop_rounds;
  std::uint32_t max_invocation_ms;
  bool is_software = false;
};

v1::Target vulkan_level(const char* arch, std::initializer_list<const char*> features, GpuLevel level) {
  v1::Target target;
  target.set_device("vulkan");
  target.set_arch(arch);
  for (const char* feature : features) target.add_features(feature);
  target.set_threads(1);
  target.set_abi_version(HEARTH_KERNEL_ABI_VERSION);
  v1::GpuLimits& gpu = *target.mutable_gpu();
  gpu.set_subgroup_size(level.subgroup_size);
  gpu.set_max_workgroup_invocations(level.max_workgroup_invocations);
  gpu.set_workgroup_size(level.workgroup_size);
  gpu.set_shared_bytes(level.shared_bytes);
  gpu.set_max_buffer_bytes(level.max_buffer_bytes);
  gpu.set_max_loop_rounds(level.max_loop_rounds);
  gpu.set_max_invocation_ms(level.max_invocation_ms);
  if (level.is_software) describe_software(gpu);
  return target;
}

class VulkanDriver final : public Driver {
 public:
  std::string_view name() const override { return "vulkan"; }
  std::string_view title() const override { return "Vulkan"; }
  std::vector<std::string> forms() const override { return {"vulkan", "vulkan:N", "vulkan:UUID"}; }
  KernelFormat format() const override { return {"spirv", ".spv"}; }

  std::vector<NamedTarget> targets() const override {
    // vulkaninfo of Mesa 22.3.6; invocations of a workgroup: eight subgroups.
    return {{"vulkan:lavapipe",
             vulkan_level("lavapipe",
                          {"bufferDeviceAddress", "shaderFloat64", "shaderInt16", "shaderInt64", "shaderInt8",
                           "shaderRoundingModeRTEFloat32", "shaderRoundingModeRTEFloat64",
                           "shaderSignedZeroInfNanPreserveFloat32", "shaderSignedZeroInfNanPreserveFloat64",
                           "storageBuffer16BitAccess", "storageBuffer8BitAccess"},
                          {8, 1024, 64, 32 << 10, std::uint64_t{2} << 30, 65'535, 0, /*is_software=*/true})},
            {"vulkan:minimal",
             vulkan_level("minimal", {"bufferDeviceAddress"}, {4, 256, 64, 16 << 10, 128 << 20, 0, 1000})}};
  }

  absl::StatusOr<std::vector<DeviceInfo>> devices() const override {
    HEARTH_ASSIGN_OR_RETURN(const std::vector<VulkanDeviceInfo> infos, vulkan_devices());
    if (infos.empty()) return absl::NotFoundError("the Vulkan loader knows no device; install a driver");
    return std::vector<DeviceInfo>(infos.begin(), infos.end());
  }

  absl::StatusOr<const Device*> find(std::string_view which) const override { return find_vulkan_device(which); }
};

}  // namespace

const Driver& vulkan_driver() {
  static const VulkanDriver& driver = *new VulkanDriver;
  return driver;
}

}  // namespace hearth::runtime
