#include "runtime/hal/vulkan/cooperative_matrix.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

namespace hearth::runtime {
namespace {

// VkCooperativeMatrixPropertiesKHR.
struct Properties {
  VkStructureType type = static_cast<VkStructureType>(1000506001);
  void* next = nullptr;
  std::uint32_t m = 0, n = 0, k = 0;
  std::int32_t a = 0, b = 0, c = 0, result = 0;  // VkComponentTypeKHR
  VkBool32 saturates = VK_FALSE;
  std::int32_t scope = 0;  // VkScopeKHR
};
using GetProperties = VkResult(VKAPI_PTR*)(VkPhysicalDevice, std::uint32_t*, Properties*);

constexpr std::int32_t kFloat16 = 0, kFloat32 = 1, kSigned8 = 3, kSigned32 = 5, kSubgroup = 3;
constexpr std::uint32_t kLongest = 64;  // that kernels are made for

bool has_extension(VkPhysicalDevice device) {
  std::uint32_t count = 0;
  vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> all(count);
  vkEnumerateDeviceExtensionProperties(device, nullptr, &count, all.data());
  return std::ranges::any_of(all, [](const VkExtensionProperties& extension) {
    return std::strcmp(extension.extensionName, kCooperativeMatrixExtension) == 0;
  });
}

bool has_feature(VkPhysicalDevice device) {
  CooperativeMatrixFeatures own;
  VkPhysicalDeviceFeatures2 features = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &own, .features = {}};
  vkGetPhysicalDeviceFeatures2(device, &features);
  return own.cooperative_matrix == VK_TRUE;
}

std::vector<Properties> properties_of(VkInstance instance, VkPhysicalDevice device) {
  const auto get = reinterpret_cast<GetProperties>(
      vkGetInstanceProcAddr(instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
  std::uint32_t count = 0;
  if (get == nullptr || get(device, &count, nullptr) != VK_SUCCESS) return {};
  std::vector<Properties> all(count);
  if (get(device, &count, all.data()) != VK_SUCCESS) return {};
  all.resize(count);
  return all;
}

bool is_used(const Properties& p, std::uint32_t invocations) {
  const auto is_size = [](std::uint32_t size) { return std::has_single_bit(size) && size <= kLongest; };
  const auto is_divided = [&](std::uint32_t elements) {
    return elements % invocations == 0 && elements / invocations <= kLongest;
  };
  return p.saturates == VK_FALSE && p.scope == kSubgroup && is_size(p.m) && is_size(p.n) && is_size(p.k) &&
         is_divided(p.m * p.k) && is_divided(p.k * p.n) && is_divided(p.m * p.n);
}

std::optional<v1::CooperativeMatrix> largest(const std::vector<Properties>& all, std::int32_t operand,
                                             std::int32_t sum) {
  std::optional<v1::CooperativeMatrix> found;
  for (const Properties& p : all) {
    if (p.a != operand || p.b != operand || p.c != sum || p.result != sum) continue;
    if (found && found->m() * found->n() * found->k() >= p.m * p.n * p.k) continue;
    found.emplace();
    found->set_m(p.m), found->set_n(p.n), found->set_k(p.k);
  }
  return found;
}

}  // namespace

std::optional<CooperativeMatrices> cooperative_matrices_of(VkInstance instance, VkPhysicalDevice device,
                                                           std::uint32_t invocations) {
  if (!has_extension(device) || !has_feature(device)) return std::nullopt;
  std::vector<Properties> all = properties_of(instance, device);
  std::erase_if(all, [&](const Properties& p) { return !is_used(p, invocations); });
  const CooperativeMatrices found = {largest(all, kFloat16, kFloat32), largest(all, kSigned8, kSigned32)};
  return found.halves ? std::optional(found) : std::nullopt;
}

void set_cooperative_matrices(const CooperativeMatrices& matrices, v1::GpuLimits& gpu) {
  if (matrices.halves) *gpu.mutable_cooperative_matrix() = *matrices.halves;
  if (matrices.bytes) *gpu.mutable_cooperative_byte_matrix() = *matrices.bytes;
}

bool has_cooperative_matrices(std::span<const std::uint32_t> module) {
  constexpr std::uint32_t kHeaderWords = 5, kOpCapability = 17, kCooperativeMatrix = 6022;
  for (std::size_t at = kHeaderWords; at + 1 < module.size() && (module[at] & 0xFFFF) == kOpCapability; at += 2) {
    if (module[at + 1] == kCooperativeMatrix) return true;
  }
  return false;
}

}  // namespace hearth::runtime
