#include "compiler/target/target_kind.h"

#include "base/registry.h"
#include "compiler/target/cpu_capabilities.h"
#include "compiler/target/gpu_capabilities.h"
#include "compiler/target/vulkan_capabilities.h"

namespace hearth::target {
namespace {

// Records launches; kernels are scalar.
Capabilities null_capabilities(const v1::Target&) { return {}; }

constexpr TargetKind kCpu = {cpu_capabilities, nullptr};
constexpr TargetKind kNull = {null_capabilities, nullptr};
constexpr TargetKind kCuda = {cuda_capabilities, check_gpu_record};
constexpr TargetKind kHip = {hip_capabilities, check_gpu_record};
constexpr TargetKind kVulkan = {vulkan_capabilities, check_vulkan_record};

Registry<TargetKind>& registry() {
  static Registry<TargetKind>& all = *new Registry<TargetKind>{
      {"cpu", &kCpu}, {"null", &kNull}, {"cuda", &kCuda}, {"hip", &kHip}, {"vulkan", &kVulkan}};
  return all;
}

}  // namespace

const TargetKind* find_target_kind(std::string_view device) { return registry().find(device); }

std::string target_kind_names() {
  std::string names;
  for (const auto& [name, kind] : registry().all()) names += (names.empty() ? "" : ", ") + name;
  return names;
}

void register_target_kind(std::string_view device, const TargetKind& kind) { registry().add(device, kind); }

}  // namespace hearth::target
