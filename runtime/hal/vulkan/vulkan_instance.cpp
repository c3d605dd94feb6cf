#define VOLK_IMPLEMENTATION
#include "runtime/hal/vulkan/vulkan_instance.h"

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace hearth::runtime {
namespace {

struct Messages {
  std::atomic<bool> any = false;
  std::mutex mutex;
  std::string text;
};

Messages& messages() {
  static Messages& instance = *new Messages;
  return instance;
}

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                                          const VkDebugUtilsMessengerCallbackDataEXT* data, void*) {
  const std::lock_guard lock(messages().mutex);
  messages().text.append(data->pMessage).append("\n");
  messages().any = true;
  return VK_FALSE;
}

absl::StatusOr<VkInstance> make_instance() {
  if (volkInitialize() != VK_SUCCESS) {
    return absl::NotFoundError("this machine has no Vulkan loader (libvulkan.so.1); install libvulkan1 and a driver");
  }
  const char* const wanted = std::getenv("HEARTH_VULKAN_VALIDATION");
  const std::uint32_t layers = wanted != nullptr && std::string_view(wanted) == "1" ? 1 : 0;
  const char* const layer = "VK_LAYER_KHRONOS_validation";
  const char* const extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
  const VkApplicationInfo application = {
      .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .pApplicationName = "hearth", .apiVersion = VK_API_VERSION_1_3};
  const VkInstanceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pApplicationInfo = &application,
                                       .enabledLayerCount = layers,
                                       .ppEnabledLayerNames = &layer,
                                       .enabledExtensionCount = layers,
                                       .ppEnabledExtensionNames = &extension};
  VkInstance instance = VK_NULL_HANDLE;
  const VkResult made = vkCreateInstance(&create, nullptr, &instance);
  if (made == VK_ERROR_LAYER_NOT_PRESENT) {
    return absl::NotFoundError(
        "HEARTH_VULKAN_VALIDATION is 1, and there is no validation layer; install vulkan-validationlayers");
  }
  if (made == VK_ERROR_INCOMPATIBLE_DRIVER) {
    return absl::NotFoundError("this machine has no Vulkan driver; install one (mesa-vulkan-drivers has several)");
  }
  if (made != VK_SUCCESS) return absl::UnavailableError(str_cat("Vulkan: vkCreateInstance: ", to_string(made)));
  volkLoadInstanceOnly(instance);
  if (layers == 0) return instance;
  const VkDebugUtilsMessengerCreateInfoEXT listen = {
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
      .messageSeverity =
          VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
      .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
      .pfnUserCallback = on_message};
  VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
  const VkResult listens = vkCreateDebugUtilsMessengerEXT(instance, &listen, nullptr, &messenger);
  if (listens != VK_SUCCESS)
    return absl::UnavailableError(str_cat("Vulkan: vkCreateDebugUtilsMessengerEXT: ", to_string(listens)));
  return instance;
}

}  // namespace

absl::StatusOr<VkInstance> vulkan_instance() {
  static const absl::StatusOr<VkInstance>& instance = *new absl::StatusOr<VkInstance>(make_instance());
  return instance;
}

std::string take_validation_messages() {
  if (!messages().any) return "";
  const std::lock_guard lock(messages().mutex);
  messages().any = false;
  return std::exchange(messages().text, "");
}

std::string to_string(VkResult result) {
  switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
      return "VK_ERROR_OUT_OF_HOST_MEMORY";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
      return "VK_ERROR_OUT_OF_DEVICE_MEMORY";
    case VK_ERROR_INITIALIZATION_FAILED:
      return "VK_ERROR_INITIALIZATION_FAILED";
    case VK_ERROR_DEVICE_LOST:
      return "VK_ERROR_DEVICE_LOST";
    case VK_ERROR_FEATURE_NOT_PRESENT:
      return "VK_ERROR_FEATURE_NOT_PRESENT";
    case VK_ERROR_EXTENSION_NOT_PRESENT:
      return "VK_ERROR_EXTENSION_NOT_PRESENT";
    default:
      return str_cat("VkResult ", static_cast<int>(result));
  }
}

}  // namespace hearth::runtime
