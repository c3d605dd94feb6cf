// VK_KHR_cooperative_matrix of a device: what of it kernels use, and what has to be asked for so that they may. Debian 12's
// headers are older than the extension: its structures are declared here. Thread-safe.
#pragma once
#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <volk.h>

#include <cstdint>
#include <optional>
#include <span>

#include "hearth/v1/artifact.pb.h"

namespace hearth::runtime {

inline constexpr const char* kCooperativeMatrixExtension = "VK_KHR_cooperative_matrix";

// VkPhysicalDeviceCooperativeMatrixFeaturesKHR.
struct CooperativeMatrixFeatures {
  VkStructureType type = static_cast<VkStructureType>(1000506000);
  void* next = nullptr;
  VkBool32 cooperative_matrix = VK_FALSE, robust_buffer_access = VK_FALSE;
};

// The largest matrices that a subgroup of `invocations` multiplies: of f16, with sums in f32, and of i8 with sums in i32.
struct CooperativeMatrices {
  std::optional<v1::CooperativeMatrix> halves, bytes;
};
// Nothing where the device lacks the extension, or has no such matrices of f16.
std::optional<CooperativeMatrices> cooperative_matrices_of(VkInstance instance, VkPhysicalDevice device,
                                                           std::uint32_t invocations);
// Into a record.
void set_cooperative_matrices(const CooperativeMatrices& matrices, v1::GpuLimits& gpu);

// Whether a module's kernel multiplies cooperative matrices: its subgroups have to be full, and of the size of the record.
bool has_cooperative_matrices(std::span<const std::uint32_t> module);

}  // namespace hearth::runtime
