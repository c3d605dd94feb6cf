#include "runtime/hal/vulkan/vulkan_context.h"

#include <vector>

#include "base/status_macros.h"
#include "base/text.h"
#include "runtime/hal/vulkan/cooperative_matrix.h"

namespace hearth::runtime {
namespace {

bool has(const v1::Target& target, std::string_view feature) {
  return std::find(target.features().begin(), target.features().end(), feature) != target.features().end();
}

VkBool32 flag(bool value) { return value ? VK_TRUE : VK_FALSE; }

absl::StatusCode code_of(VkResult result) {
  switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_OUT_OF_POOL_MEMORY:
    case VK_ERROR_TOO_MANY_OBJECTS:
      return absl::StatusCode::kResourceExhausted;
    case VK_ERROR_DEVICE_LOST:
      return absl::StatusCode::kUnavailable;
    case VK_TIMEOUT:
      return absl::StatusCode::kDeadlineExceeded;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

absl::StatusOr<std::shared_ptr<VulkanContext>> VulkanContext::open(const VulkanDeviceInfo& info,
                                                                   const EntryPointHook& hook) {
  if (!info.unusable.empty())
    return absl::FailedPreconditionError(str_cat("Vulkan device ", info.index, ", ", info.name, ": ", info.unusable));
  HEARTH_ASSIGN_OR_RETURN(const VkInstance instance, vulkan_instance());
  std::uint32_t count = 0;
  vkEnumeratePhysicalDevices(instance, &count, nullptr);
  std::vector<VkPhysicalDevice> devices(count);
  const VkResult listed = vkEnumeratePhysicalDevices(instance, &count, devices.data());
  if (listed != VK_SUCCESS || info.index >= count)
    return absl::UnavailableError(str_cat("Vulkan device ", info.index, ", ", info.name, ": it is there no more"));
  std::shared_ptr<VulkanContext> context(new VulkanContext(info));
  HEARTH_RETURN_IF_ERROR(context->make_device(devices[info.index], hook));
  return context;
}

VulkanContext::~VulkanContext() {
  if (device_ == VK_NULL_HANDLE || is_abandoned()) return;
  if (layout_ != VK_NULL_HANDLE) table_.vkDestroyPipelineLayout(device_, layout_, nullptr);
  table_.vkDestroyDevice(device_, nullptr);
}

absl::Status VulkanContext::find_queue(VkPhysicalDevice physical) {
  std::uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families.data());
  // One that does nothing else first: it runs beside what a desktop draws.
  for (const bool alone : {true, false}) {
    for (family_ = 0; family_ < count; ++family_) {
      const VkQueueFlags flags = families[family_].queueFlags;
      if ((flags & VK_QUEUE_COMPUTE_BIT) == 0 || (alone && (flags & VK_QUEUE_GRAPHICS_BIT) != 0)) continue;
      VkPhysicalDeviceProperties properties;
      vkGetPhysicalDeviceProperties(physical, &properties);
      timestamp_ns_ = families[family_].timestampValidBits > 0 ? properties.limits.timestampPeriod : 0;
      return absl::OkStatus();
    }
  }
  return absl::FailedPreconditionError(str_cat(info_.name, ": it has no queue for compute work"));
}

absl::Status VulkanContext::make_device(VkPhysicalDevice physical, const EntryPointHook& hook) {
  HEARTH_RETURN_IF_ERROR(find_queue(physical));
  vkGetPhysicalDeviceMemoryProperties(physical, &memory_);
  const v1::Target& target = info_.target;
  const bool has_matrix = target.gpu().has_cooperative_matrix();
  CooperativeMatrixFeatures matrix = {.cooperative_matrix = VK_TRUE};
  VkPhysicalDeviceVulkan13Features v13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
                                          .pNext = has_matrix ? &matrix : nullptr,
                                          .subgroupSizeControl = flag(has_matrix),
                                          .computeFullSubgroups = flag(has_matrix),
                                          .synchronization2 = VK_TRUE};
  VkPhysicalDeviceVulkan12Features v12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                          .pNext = &v13,
                                          .storageBuffer8BitAccess = flag(has(target, "storageBuffer8BitAccess")),
                                          .shaderFloat16 = flag(has_matrix),
                                          .shaderInt8 = flag(has(target, "shaderInt8")),
                                          .timelineSemaphore = VK_TRUE,
                                          .bufferDeviceAddress = VK_TRUE,
                                          .vulkanMemoryModel = flag(has_matrix)};
  VkPhysicalDeviceVulkan11Features v11 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
                                          .pNext = &v12,
                                          .storageBuffer16BitAccess = flag(has(target, "storageBuffer16BitAccess"))};
  VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &v11};
  features.features.shaderInt64 = VK_TRUE;
  features.features.shaderFloat64 = flag(has(target, "shaderFloat64"));
  features.features.shaderInt16 = flag(has(target, "shaderInt16"));
  const float priority = 1;
  const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                         .queueFamilyIndex = family_,
                                         .queueCount = 1,
                                         .pQueuePriorities = &priority};
  const VkDeviceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &features,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue,
                                     .enabledExtensionCount = has_matrix ? 1U : 0U,
                                     .ppEnabledExtensionNames = &kCooperativeMatrixExtension};
  if (absl::Status made = check(vkCreateDevice(physical, &create, nullptr, &device_), "vkCreateDevice"); !made.ok())
    return made;
  volkLoadDeviceTable(&table_, device_);
  if (hook) hook(table_);
  table_.vkGetDeviceQueue(device_, family_, 0, &queue_);
  const VkPushConstantRange push = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .offset = 0, .size = 8};
  const VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                             .pushConstantRangeCount = 1,
                                             .pPushConstantRanges = &push};
  return check(table_.vkCreatePipelineLayout(device_, &layout, nullptr, &layout_), "vkCreatePipelineLayout");
}

absl::Status VulkanContext::check(VkResult result, std::string_view what) const {
  if (result == VK_ERROR_DEVICE_LOST) state_.set_lost("VK_ERROR_DEVICE_LOST");
  const std::string messages = take_validation_messages();
  if (!messages.empty()) return absl::InternalError(str_cat(info_.name, ": ", what, ": validation: ", messages));
  if (result == VK_SUCCESS) return absl::OkStatus();
  const std::string_view remedy = result == VK_ERROR_DEVICE_LOST ? kLostRemedy : "";
  return absl::Status(code_of(result), str_cat(info_.name, ": ", what, ": ", to_string(result), remedy));
}

absl::Status VulkanContext::submit(VkCommandBuffer commands, VkSemaphore semaphore, std::uint64_t value) const {
  const VkCommandBufferSubmitInfo buffer = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                            .commandBuffer = commands};
  const VkSemaphoreSubmitInfo signal = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                        .semaphore = semaphore,
                                        .value = value,
                                        .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
  const VkSubmitInfo2 submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                                .commandBufferInfoCount = 1,
                                .pCommandBufferInfos = &buffer,
                                .signalSemaphoreInfoCount = 1,
                                .pSignalSemaphoreInfos = &signal};
  VkResult result;
  {
    const std::lock_guard lock(queue_mutex_);
    result = table_.vkQueueSubmit2(queue_, 1, &submit, VK_NULL_HANDLE);
  }
  return check(result, "vkQueueSubmit2");
}

absl::Status VulkanContext::wait(VkSemaphore semaphore, std::uint64_t value) const {
  const VkSemaphoreWaitInfo wait = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                    .semaphoreCount = 1,
                                    .pSemaphores = &semaphore,
                                    .pValues = &value};
  const VkResult result = table_.vkWaitSemaphores(device_, &wait, static_cast<std::uint64_t>(state_.timeout().count()));
  if (result == VK_TIMEOUT) return state_.stuck();
  // What was waited for may still use what its owner is about to free.
  if (result != VK_SUCCESS && result != VK_ERROR_DEVICE_LOST) {
    const std::lock_guard lock(queue_mutex_);
    if (table_.vkDeviceWaitIdle(device_) != VK_SUCCESS) state_.set_stuck();
  }
  return check(result, "vkWaitSemaphores");
}

void VulkanContext::set_name(VkObjectType type, std::uint64_t handle, const std::string& name) const {
  if (vkSetDebugUtilsObjectNameEXT == nullptr) return;
  const VkDebugUtilsObjectNameInfoEXT info = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
                                              .objectType = type,
                                              .objectHandle = handle,
                                              .pObjectName = name.c_str()};
  vkSetDebugUtilsObjectNameEXT(device_, &info);
}

absl::StatusOr<VulkanSemaphore> make_timeline(const std::shared_ptr<const VulkanContext>& context) {
  const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                          .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
  const VkSemaphoreCreateInfo create = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
  VkSemaphore semaphore = VK_NULL_HANDLE;
  const VkResult made = context->table().vkCreateSemaphore(context->device(), &create, nullptr, &semaphore);
  HEARTH_RETURN_IF_ERROR(context->check(made, "vkCreateSemaphore"));
  return VulkanSemaphore(context, semaphore);
}

absl::StatusOr<VulkanCommands> make_commands(const std::shared_ptr<const VulkanContext>& context) {
  const VkCommandPoolCreateInfo create = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .queueFamilyIndex = context->queue_family()};
  VkCommandPool pool = VK_NULL_HANDLE;
  const VkResult made = context->table().vkCreateCommandPool(context->device(), &create, nullptr, &pool);
  HEARTH_RETURN_IF_ERROR(context->check(made, "vkCreateCommandPool"));
  VulkanCommands commands{VulkanCommandPool(context, pool), VK_NULL_HANDLE};
  const VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                .commandPool = pool,
                                                .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                                .commandBufferCount = 1};
  const VkResult allocated = context->table().vkAllocateCommandBuffers(context->device(), &allocate, &commands.buffer);
  HEARTH_RETURN_IF_ERROR(context->check(allocated, "vkAllocateCommandBuffers"));
  return commands;
}

}  // namespace hearth::runtime
