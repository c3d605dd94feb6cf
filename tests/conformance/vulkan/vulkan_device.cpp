#define VOLK_IMPLEMENTATION
#include "tests/conformance/vulkan/vulkan_device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "runtime/hal/vulkan/cooperative_matrix.h"

namespace hearth::conformance {
namespace {

constexpr std::size_t kGuardBytes = 256;  // between blocks, of kGuard
constexpr std::uint8_t kGuard = 0xCD;
constexpr std::uint64_t kPatienceNs = 120'000'000'000;
constexpr std::uint64_t kMaxGroups = 65'535;

void check(VkResult result, const char* what) {
  if (result != VK_SUCCESS) throw std::runtime_error(std::string(what) + " gives " + std::to_string(result));
}

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                                          const VkDebugUtilsMessengerCallbackDataEXT* data, void* messages) {
  static_cast<std::string*>(messages)->append(data->pMessage).append("\n");
  return VK_FALSE;
}

bool wants_validation() {
  const char* text = std::getenv("HEARTH_VULKAN_VALIDATION");
  return text != nullptr && std::strcmp(text, "1") == 0;
}

std::size_t rounded(std::size_t size) { return (size + 63) / 64 * 64; }

}  // namespace

VulkanDevice::VulkanDevice() {
  if (volkInitialize() != VK_SUCCESS) throw std::runtime_error("there is no Vulkan loader (libvulkan.so.1)");
  make_instance();
  make_device();
}

VulkanDevice::~VulkanDevice() {
  if (device_ != VK_NULL_HANDLE) {
    vkDeviceWaitIdle(device_);
    for (const auto& [module, pipeline] : pipelines_) vkDestroyPipeline(device_, pipeline, nullptr);
    vkDestroyFence(device_, fence_, nullptr);
    vkDestroyCommandPool(device_, pool_, nullptr);
    vkDestroyPipelineLayout(device_, layout_, nullptr);
    reserve(0);
    vkDestroyDevice(device_, nullptr);
  }
  if (messenger_ != VK_NULL_HANDLE) vkDestroyDebugUtilsMessengerEXT(instance_, messenger_, nullptr);
  vkDestroyInstance(instance_, nullptr);
}

void VulkanDevice::make_instance() {
  const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                         .pApplicationName = "hearth-vulkan-runner",
                                         .apiVersion = VK_API_VERSION_1_3};
  const char* layer = "VK_LAYER_KHRONOS_validation";
  const char* extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
  const std::uint32_t extras = wants_validation() ? 1 : 0;
  const VkInstanceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pApplicationInfo = &application,
                                       .enabledLayerCount = extras,
                                       .ppEnabledLayerNames = &layer,
                                       .enabledExtensionCount = extras,
                                       .ppEnabledExtensionNames = &extension};
  check(vkCreateInstance(&create, nullptr, &instance_), "vkCreateInstance");
  volkLoadInstance(instance_);
  if (extras == 0) return;
  const VkDebugUtilsMessengerCreateInfoEXT messenger = {
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
      .messageSeverity =
          VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
      .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
      .pfnUserCallback = on_message,
      .pUserData = &messages_};
  check(vkCreateDebugUtilsMessengerEXT(instance_, &messenger, nullptr, &messenger_), "vkCreateDebugUtilsMessengerEXT");
}

void VulkanDevice::make_device() {
  std::uint32_t count = 0;
  check(vkEnumeratePhysicalDevices(instance_, &count, nullptr), "vkEnumeratePhysicalDevices");
  std::vector<VkPhysicalDevice> devices(count);
  check(vkEnumeratePhysicalDevices(instance_, &count, devices.data()), "vkEnumeratePhysicalDevices");
  const char* wanted = std::getenv("HEARTH_TEST_VULKAN_DEVICE");
  const auto number = static_cast<std::size_t>(wanted == nullptr ? 0 : std::atoi(wanted));
  if (number >= devices.size()) throw std::runtime_error("there is no Vulkan device: install mesa-vulkan-drivers");
  physical_ = devices[number];
  VkPhysicalDeviceProperties properties;
  vkGetPhysicalDeviceProperties(physical_, &properties);
  name_ = properties.deviceName;

  VkPhysicalDeviceVulkan13Features v13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
  VkPhysicalDeviceVulkan12Features v12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                          .pNext = &v13};
  VkPhysicalDeviceVulkan11Features v11 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
                                          .pNext = &v12};
  VkPhysicalDeviceFeatures2 has = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &v11};
  vkGetPhysicalDeviceFeatures2(physical_, &has);
  if (!v12.bufferDeviceAddress || !has.features.shaderInt64)
    throw std::runtime_error(name_ + " has no bufferDeviceAddress or shaderInt64");
  has.features.robustBufferAccess = VK_FALSE;
  VkPhysicalDeviceSubgroupProperties subgroup = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
  VkPhysicalDeviceProperties2 more = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &subgroup};
  vkGetPhysicalDeviceProperties2(physical_, &more);
  matrices_.set_subgroup_size(subgroup.subgroupSize);
  const auto matrix = runtime::cooperative_matrices_of(instance_, physical_, subgroup.subgroupSize);
  if (matrix) runtime::set_cooperative_matrices(*matrix, matrices_);
  runtime::CooperativeMatrixFeatures matrix_features = {.cooperative_matrix = VK_TRUE};
  if (matrix) v13.pNext = &matrix_features;

  std::uint32_t families = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(physical_, &families, nullptr);
  std::vector<VkQueueFamilyProperties> queues(families);
  vkGetPhysicalDeviceQueueFamilyProperties(physical_, &families, queues.data());
  while (family_ < families && !(queues[family_].queueFlags & VK_QUEUE_COMPUTE_BIT)) ++family_;
  if (family_ == families) throw std::runtime_error(name_ + " has no compute queue");
  const float priority = 1;
  const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                         .queueFamilyIndex = family_,
                                         .queueCount = 1,
                                         .pQueuePriorities = &priority};
  const VkDeviceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &has,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue,
                                     .enabledExtensionCount = matrix ? 1U : 0U,
                                     .ppEnabledExtensionNames = &runtime::kCooperativeMatrixExtension};
  check(vkCreateDevice(physical_, &create, nullptr, &device_), "vkCreateDevice");
  volkLoadDevice(device_);
  vkGetDeviceQueue(device_, family_, 0, &queue_);

  const VkPushConstantRange push = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .offset = 0, .size = 8};
  const VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                             .pushConstantRangeCount = 1,
                                             .pPushConstantRanges = &push};
  check(vkCreatePipelineLayout(device_, &layout, nullptr, &layout_), "vkCreatePipelineLayout");
  const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                        .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                        .queueFamilyIndex = family_};
  check(vkCreateCommandPool(device_, &pool, nullptr, &pool_), "vkCreateCommandPool");
  const VkCommandBufferAllocateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                .commandPool = pool_,
                                                .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                                .commandBufferCount = 1};
  check(vkAllocateCommandBuffers(device_, &commands, &commands_), "vkAllocateCommandBuffers");
  const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  check(vkCreateFence(device_, &fence, nullptr, &fence_), "vkCreateFence");
}

std::uint32_t VulkanDevice::memory_type(std::uint32_t allowed) const {
  constexpr VkMemoryPropertyFlags kWanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  VkPhysicalDeviceMemoryProperties memory;
  vkGetPhysicalDeviceMemoryProperties(physical_, &memory);
  for (std::uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    if ((allowed >> i & 1) != 0 && (memory.memoryTypes[i].propertyFlags & kWanted) == kWanted) return i;
  }
  throw std::runtime_error("no memory that the host sees");
}

void VulkanDevice::reserve(std::size_t size) {
  if (size != 0 && size <= memory_.size) return;
  vkDestroyBuffer(device_, memory_.buffer, nullptr);
  vkFreeMemory(device_, memory_.memory, nullptr);
  memory_ = {};
  if (size == 0) return;
  const VkBufferCreateInfo buffer = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
      .size = size,
      .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT};
  check(vkCreateBuffer(device_, &buffer, nullptr, &memory_.buffer), "vkCreateBuffer");
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(device_, memory_.buffer, &needs);
  const VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                           .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
  const VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                         .pNext = &flags,
                                         .allocationSize = needs.size,
                                         .memoryTypeIndex = memory_type(needs.memoryTypeBits)};
  check(vkAllocateMemory(device_, &allocate, nullptr, &memory_.memory), "vkAllocateMemory");
  check(vkBindBufferMemory(device_, memory_.buffer, memory_.memory, 0), "vkBindBufferMemory");
  void* data = nullptr;
  check(vkMapMemory(device_, memory_.memory, 0, VK_WHOLE_SIZE, 0, &data), "vkMapMemory");
  memory_.data = static_cast<std::uint8_t*>(data);
  const VkBufferDeviceAddressInfo address = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                             .buffer = memory_.buffer};
  memory_.address = vkGetBufferDeviceAddress(device_, &address);
  memory_.size = size;
}

VkPipeline VulkanDevice::pipeline(std::string_view words) {
  if (const auto known = pipelines_.find(words); known != pipelines_.end()) return known->second;
  const std::string aligned(words);
  const VkShaderModuleCreateInfo create = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                           .codeSize = aligned.size(),
                                           .pCode = reinterpret_cast<const std::uint32_t*>(aligned.data())};
  VkShaderModule module = VK_NULL_HANDLE;
  check(vkCreateShaderModule(device_, &create, nullptr, &module), "vkCreateShaderModule");
  const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo subgroups = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
      .requiredSubgroupSize = matrices_.subgroup_size()};
  const bool has_matrices = runtime::has_cooperative_matrices({create.pCode, aligned.size() / sizeof(std::uint32_t)});
  const VkPipelineShaderStageCreateFlags full =
      has_matrices ? VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT : 0;
  const VkComputePipelineCreateInfo compute = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                               .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                         .pNext = has_matrices ? &subgroups : nullptr,
                                                         .flags = full,
                                                         .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                         .module = module,
                                                         .pName = "main"},
                                               .layout = layout_};
  VkPipeline made = VK_NULL_HANDLE;
  const VkResult result = vkCreateComputePipelines(device_, VK_NULL_HANDLE, 1, &compute, nullptr, &made);
  vkDestroyShaderModule(device_, module, nullptr);
  check(result, "vkCreateComputePipelines");
  pipelines_.emplace(aligned, made);
  return made;
}

void VulkanDevice::run(WireReader& request, WireWriter& reply) {
  // Blocks, then a row a launch, with guards around.
  std::vector<std::string_view> blocks(request.number());
  std::vector<std::size_t> places;
  std::size_t size = kGuardBytes;
  for (std::string_view& block : blocks) {
    request.number();  // its alignment, which is not needed here
    block = request.text();
    // The end of a block is where its guard begins; its beginning is aligned for any element.
    places.push_back(rounded(size));
    size = places.back() + block.size() + kGuardBytes;
  }
  std::vector<VkPipeline> modules(request.number());
  for (VkPipeline& module : modules) module = pipeline(request.text());
  struct Launch {
    std::uint64_t module, groups;
    std::vector<std::uint64_t> row;
  };
  std::vector<Launch> launches(request.number());
  std::vector<std::pair<Launch*, std::vector<std::pair<std::uint64_t, std::uint64_t>>>> buffers;
  std::vector<std::size_t> rows;
  for (Launch& launch : launches) {
    launch.module = request.number();
    request.text();    // every module's entry point is main
    request.number();  // units are taken from the first one on
    const std::uint64_t units = request.number(), workgroup = request.number();
    // Fewer invocations than units now and then: kernels take their units in steps of all invocations.
    const std::uint64_t all = (units + workgroup - 1) / workgroup;
    launch.groups = std::clamp<std::uint64_t>(rows.size() % 2 == 0 ? all : (all + 1) / 2, 1, kMaxGroups);
    launch.row.push_back(units);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> used(request.number());
    for (auto& [block, offset] : used) block = request.number(), offset = request.number();
    buffers.emplace_back(&launch, used);
    launch.row.resize(1 + used.size());
    const std::uint64_t vars = request.number();
    for (std::uint64_t i = 0; i < vars; ++i) launch.row.push_back(request.number());
    if (request.number() != 0) throw std::runtime_error("a condition of a launch on a GPU");
    rows.push_back(rounded(size));
    size = rows.back() + 8 * launch.row.size();
  }
  reserve(rounded(size) + kGuardBytes);
  std::memset(memory_.data, kGuard, memory_.size);
  for (std::size_t i = 0; i < blocks.size(); ++i)
    std::memcpy(memory_.data + places[i], blocks[i].data(), blocks[i].size());
  for (auto& [launch, used] : buffers) {
    for (std::size_t i = 0; i < used.size(); ++i)
      launch->row[1 + i] = memory_.address + places.at(used[i].first) + used[i].second;
  }
  for (std::size_t i = 0; i < launches.size(); ++i)
    std::memcpy(memory_.data + rows[i], launches[i].row.data(), 8 * launches[i].row.size());

  const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                          .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
  check(vkBeginCommandBuffer(commands_, &begin), "vkBeginCommandBuffer");
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const VkDeviceAddress row = memory_.address + rows[i];
    vkCmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, modules.at(launches[i].module));
    vkCmdPushConstants(commands_, layout_, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(row), &row);
    vkCmdDispatch(commands_, static_cast<std::uint32_t>(launches[i].groups), 1, 1);
    const VkMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_HOST_READ_BIT};
    vkCmdPipelineBarrier(commands_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                         VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, nullptr,
                         0, nullptr);
  }
  check(vkEndCommandBuffer(commands_), "vkEndCommandBuffer");
  const VkSubmitInfo submit = {
      .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands_};
  check(vkQueueSubmit(queue_, 1, &submit, fence_), "vkQueueSubmit");
  check(vkWaitForFences(device_, 1, &fence_, VK_TRUE, kPatienceNs), "vkWaitForFences");
  check(vkResetFences(device_, 1, &fence_), "vkResetFences");

  for (std::size_t i = 0, end = 0; i <= blocks.size(); ++i) {
    const std::size_t next = i < blocks.size() ? places[i] : end + kGuardBytes;
    for (std::size_t at = end; at < next; ++at) {
      if (memory_.data[at] != kGuard)
        throw std::runtime_error("a kernel wrote " + std::to_string(at - end) + " bytes behind block " +
                                 std::to_string(i) + " (0: in front of the first)");
    }
    if (i < blocks.size()) end = places[i] + blocks[i].size();
  }
  if (!messages_.empty()) throw std::runtime_error("validation: " + std::exchange(messages_, ""));
  for (std::size_t i = 0; i < blocks.size(); ++i)
    reply.text({reinterpret_cast<const char*>(memory_.data + places[i]), blocks[i].size()});
}

}  // namespace hearth::conformance
