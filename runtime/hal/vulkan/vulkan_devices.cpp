#include "runtime/hal/vulkan/vulkan_devices.h"

#include <algorithm>
#include <optional>

#include "base/kernel_abi.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "runtime/hal/vulkan/cooperative_matrix.h"
#include "runtime/hal/vulkan/software_device.h"
#include "runtime/hal/vulkan/vulkan_instance.h"

namespace hearth::runtime {
namespace {

// What of a device decides about it.
struct Facts {
  VkPhysicalDeviceVulkan13Features features13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
  VkPhysicalDeviceVulkan12Features features12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                                 .pNext = &features13};
  VkPhysicalDeviceVulkan11Features features11 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
                                                 .pNext = &features12};
  VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &features11};
  VkPhysicalDeviceVulkan13Properties properties13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES};
  VkPhysicalDeviceVulkan12Properties properties12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES,
                                                     .pNext = &properties13};
  VkPhysicalDeviceVulkan11Properties properties11 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES,
                                                     .pNext = &properties12};
  VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                            .pNext = &properties11};
  VkPhysicalDeviceMemoryProperties memory = {};
  bool has_compute_queue = false;
  std::optional<CooperativeMatrices> matrix;  // that kernels may multiply

  Facts(VkInstance instance, VkPhysicalDevice device) {
    vkGetPhysicalDeviceProperties(device, &properties.properties);
    if (!is_new_enough()) return;  // and has no place for the others
    vkGetPhysicalDeviceProperties2(device, &properties);
    vkGetPhysicalDeviceFeatures2(device, &features);
    vkGetPhysicalDeviceMemoryProperties(device, &memory);
    std::uint32_t count = 0;
    vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
    std::vector<VkQueueFamilyProperties> families(count);
    vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
    has_compute_queue = std::ranges::any_of(
        families, [](const VkQueueFamilyProperties& f) { return (f.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0; });
    // On processors they are slower than other loops: a product of 512 takes 27 ms with them and 10 without by Mesa 26.
    const bool is_hardware = basic().deviceType != VK_PHYSICAL_DEVICE_TYPE_CPU;
    if (is_hardware && fixes_subgroups() && features12.shaderFloat16 == VK_TRUE &&
        features12.vulkanMemoryModel == VK_TRUE && features.features.shaderInt16 == VK_TRUE)
      matrix = cooperative_matrices_of(instance, device, properties11.subgroupSize);
  }
  Facts(const Facts&) = delete;
  Facts& operator=(const Facts&) = delete;

  const VkPhysicalDeviceProperties& basic() const { return properties.properties; }
  bool is_new_enough() const { return basic().apiVersion >= VK_API_VERSION_1_3; }
  // Whether a kernel may ask for full subgroups of the size that the record has.
  bool fixes_subgroups() const {
    return features13.subgroupSizeControl == VK_TRUE && features13.computeFullSubgroups == VK_TRUE &&
           (properties13.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
           properties13.minSubgroupSize <= properties11.subgroupSize &&
           properties11.subgroupSize <= properties13.maxSubgroupSize;
  }
};

std::string version_text(std::uint32_t version) {
  return str_cat(VK_API_VERSION_MAJOR(version), ".", VK_API_VERSION_MINOR(version), ".", VK_API_VERSION_PATCH(version));
}

std::string type_of(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return "discrete";
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return "integrated";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return "virtual";
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return "cpu";
    default:
      return "other";
  }
}

// The word of a driver in a target's name; its record says what it can do.
std::string arch_of(VkDriverId driver) {
  switch (driver) {
    case VK_DRIVER_ID_MESA_LLVMPIPE:
      return "lavapipe";
    case VK_DRIVER_ID_NVIDIA_PROPRIETARY:
      return "nvidia";
    case VK_DRIVER_ID_MESA_NVK:
      return "nvk";
    case VK_DRIVER_ID_MESA_RADV:
      return "radv";
    case VK_DRIVER_ID_AMD_OPEN_SOURCE:
    case VK_DRIVER_ID_AMD_PROPRIETARY:
      return "amdvlk";
    case VK_DRIVER_ID_INTEL_OPEN_SOURCE_MESA:
      return "anv";
    default:
      return str_cat("driver", static_cast<int>(driver));
  }
}

// Sorted by name, as records have them.
void add_features(const Facts& facts, v1::Target& target) {
  const VkPhysicalDeviceVulkan12Properties& floats = facts.properties12;
  const VkBool32 has_matrix = facts.matrix ? VK_TRUE : VK_FALSE;  // and what kernels with them need
  const std::pair<const char*, VkBool32> all[] = {
      {"bufferDeviceAddress", facts.features12.bufferDeviceAddress},
      {"cooperativeMatrix", has_matrix},
      {"shaderDenormPreserveFloat32", floats.shaderDenormPreserveFloat32},
      {"shaderDenormPreserveFloat64", floats.shaderDenormPreserveFloat64},
      {"shaderFloat16", has_matrix},
      {"shaderFloat64", facts.features.features.shaderFloat64},
      {"shaderInt16", facts.features.features.shaderInt16},
      {"shaderInt64", facts.features.features.shaderInt64},
      {"shaderInt8", facts.features12.shaderInt8},
      {"shaderRoundingModeRTEFloat32", floats.shaderRoundingModeRTEFloat32},
      {"shaderRoundingModeRTEFloat64", floats.shaderRoundingModeRTEFloat64},
      {"shaderSignedZeroInfNanPreserveFloat32", floats.shaderSignedZeroInfNanPreserveFloat32},
      {"shaderSignedZeroInfNanPreserveFloat64", floats.shaderSignedZeroInfNanPreserveFloat64},
      {"storageBuffer16BitAccess", facts.features11.storageBuffer16BitAccess},
      {"storageBuffer8BitAccess", facts.features12.storageBuffer8BitAccess},
      {"vulkanMemoryModel", has_matrix},
  };
  for (const auto& [name, has] : all) {
    if (has == VK_TRUE) target.add_features(name);
  }
}

// Whether a driver watches how long the device is busy.
bool limits_apply(const Facts& facts) { return facts.basic().deviceType != VK_PHYSICAL_DEVICE_TYPE_CPU; }

v1::Target target_of(const Facts& facts) {
  // Enough invocations to hide what one waits for, few enough that small launches fill the device.
  constexpr std::uint32_t kSubgroups = 8, kMinInvocations = 64;
  const VkPhysicalDeviceLimits& limits = facts.basic().limits;
  v1::Target target;
  target.set_device("vulkan");
  target.set_arch(arch_of(facts.properties12.driverID));
  add_features(facts, target);
  target.set_threads(1);
  target.set_abi_version(HEARTH_KERNEL_ABI_VERSION);
  v1::GpuLimits& gpu = *target.mutable_gpu();
  gpu.set_subgroup_size(facts.properties11.subgroupSize);
  gpu.set_max_workgroup_invocations(std::min(limits.maxComputeWorkGroupInvocations, limits.maxComputeWorkGroupSize[0]));
  gpu.set_workgroup_size(std::min(gpu.max_workgroup_invocations(),
                                  std::max(kMinInvocations, kSubgroups * facts.properties11.subgroupSize)));
  gpu.set_shared_bytes(limits.maxComputeSharedMemorySize);
  if (facts.matrix) set_cooperative_matrices(*facts.matrix, gpu);
  // Mesa's llvmpipe ends all loops of an invocation together after so many rounds, without an error
  // (LP_MAX_TGSI_LOOP_ITERATIONS; vulkan_test measures it). Drivers of GPUs end what runs for seconds: half of the
  // shortest such time, the 5 s of Intel's xe (amdgpu: 10 s).
  constexpr std::uint64_t kLavapipeRounds = 65'535;
  constexpr std::uint32_t kInvocationMs = 2500;
  const bool is_llvmpipe = facts.properties12.driverID == VK_DRIVER_ID_MESA_LLVMPIPE;
  if (is_llvmpipe) gpu.set_max_loop_rounds(kLavapipeRounds);
  if (limits_apply(facts)) gpu.set_max_invocation_ms(kInvocationMs);
  if (facts.basic().deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU) describe_software(gpu);
  gpu.set_max_buffer_bytes(std::min(facts.properties11.maxMemoryAllocationSize, facts.properties13.maxBufferSize));
  return target;
}

std::string why_unusable(const Facts& facts) {
  if (!facts.is_new_enough())
    return str_cat("it has Vulkan ", version_text(facts.basic().apiVersion), "; 1.3 is needed");
  if (!facts.has_compute_queue) return "it has no queue for compute work";
  if (facts.features12.bufferDeviceAddress != VK_TRUE)
    return "it lacks bufferDeviceAddress, by which kernels find their buffers";
  if (facts.features.features.shaderInt64 != VK_TRUE) return "it lacks shaderInt64, which addresses need";
  return "";
}

VulkanDeviceInfo info_of(VkInstance instance, std::uint32_t index, VkPhysicalDevice device) {
  const Facts facts(instance, device);
  VulkanDeviceInfo info;
  info.index = index;
  info.device = str_cat("vulkan:", index);
  info.name = facts.basic().deviceName;
  info.api_version = version_text(facts.basic().apiVersion);
  info.type = type_of(facts.basic().deviceType);
  info.unusable = why_unusable(facts);
  if (!facts.is_new_enough()) return info;
  const auto* uuid = reinterpret_cast<const char*>(facts.properties11.deviceUUID);
  info.uuid = std::string(uuid, VK_UUID_SIZE);
  info.driver = facts.properties12.driverName;
  info.driver_version = facts.properties12.driverInfo;
  for (std::uint32_t i = 0; i < facts.memory.memoryHeapCount; ++i) {
    const VkMemoryHeap& heap = facts.memory.memoryHeaps[i];
    if ((heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) == 0 || heap.size < info.memory_bytes) continue;
    info.memory_bytes = heap.size;
    info.has_host_visible_memory =
        std::any_of(facts.memory.memoryTypes, facts.memory.memoryTypes + facts.memory.memoryTypeCount,
                    [&](const VkMemoryType& type) {
                      return type.heapIndex == i && (type.propertyFlags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) != 0;
                    });
  }
  info.target = target_of(facts);
  return info;
}

}  // namespace

absl::StatusOr<std::vector<VulkanDeviceInfo>> vulkan_devices() {
  HEARTH_ASSIGN_OR_RETURN(const VkInstance instance, vulkan_instance());
  std::uint32_t count = 0;
  VkResult listed = vkEnumeratePhysicalDevices(instance, &count, nullptr);
  std::vector<VkPhysicalDevice> devices(count);
  if (listed == VK_SUCCESS) listed = vkEnumeratePhysicalDevices(instance, &count, devices.data());
  if (listed != VK_SUCCESS && listed != VK_INCOMPLETE)
    return absl::UnavailableError(str_cat("Vulkan: vkEnumeratePhysicalDevices: ", to_string(listed)));
  devices.resize(count);
  std::vector<VulkanDeviceInfo> infos;
  for (std::uint32_t i = 0; i < count; ++i) infos.push_back(info_of(instance, i, devices[i]));
  return infos;
}

}  // namespace hearth::runtime
