#include "runtime/targets/named_target.h"

#include <absl/strings/str_join.h>

#include <algorithm>
#include <initializer_list>

#include "base/text.h"
#include "runtime/hal/device.h"
#include "runtime/kernel_abi.h"

namespace hearth::runtime {
namespace {

struct CpuLevel {
  std::uint32_t vector_bits, threads;
  std::uint64_t l2_bytes;
};

v1::Target cpu_level(const char* triple, std::initializer_list<const char*> features, CpuLevel level) {
  v1::Target target;
  target.set_device("cpu");
  target.set_triple(triple);
  for (const char* feature : features) target.add_features(feature);
  target.set_vector_bits(level.vector_bits);
  target.set_threads(level.threads);
  target.set_l2_bytes(level.l2_bytes);
  target.set_abi_version(HEARTH_KERNEL_ABI_VERSION);
  return target;
}

struct GpuLevel {
  std::uint32_t subgroup_size, max_workgroup_invocations, workgroup_size, shared_bytes;
  std::uint64_t max_buffer_bytes, max_loop_rounds;
  std::uint32_t max_invocation_ms;
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
  return target;
}

struct Fixed {
  const char* name;
  v1::Target target;
};

const std::vector<Fixed>& fixed_targets() {
  constexpr char kX86[] = "x86_64-unknown-linux-gnu";
  static const std::vector<Fixed>& all = *new std::vector<Fixed>{
      {"cpu:x86-64-v3",
       cpu_level(kX86, {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse4.2"},
                 {256, 2, 1 << 20})},
      {"cpu:x86-64-v4", cpu_level(kX86,
                                  {"avx", "avx2", "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl", "bmi",
                                   "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse4.2"},
                                  {512, 2, 2 << 20})},
      {"cpu:armv8.2-a", cpu_level("aarch64-unknown-linux-gnu", {"neon"}, {128, 4, 512 << 10})},
      // vulkaninfo of Mesa 22.3.6; invocations of a workgroup: eight subgroups.
      {"vulkan:lavapipe",
       vulkan_level("lavapipe",
                    {"bufferDeviceAddress", "shaderFloat64", "shaderInt16", "shaderInt64", "shaderInt8",
                     "shaderRoundingModeRTEFloat32", "shaderRoundingModeRTEFloat64",
                     "shaderSignedZeroInfNanPreserveFloat32", "shaderSignedZeroInfNanPreserveFloat64",
                     "storageBuffer16BitAccess", "storageBuffer8BitAccess"},
                    {8, 1024, 64, 32 << 10, std::uint64_t{2} << 30, 65'535, 0})},
      {"vulkan:minimal", vulkan_level("minimal", {"bufferDeviceAddress"}, {4, 256, 64, 16 << 10, 128 << 20, 0, 1000})},
  };
  return all;
}

}  // namespace

const std::vector<std::string>& target_names() {
  static const std::vector<std::string>& names = *[] {
    auto* all = new std::vector<std::string>{"cpu", "null"};
    for (const Fixed& fixed : fixed_targets()) all->push_back(fixed.name);
    return all;
  }();
  return names;
}

absl::StatusOr<v1::Target> named_target(std::string_view name) {
  for (const Fixed& fixed : fixed_targets()) {
    if (name == fixed.name) return fixed.target;
  }
  if (name == "cpu" || name == "null") return (*find_device(name))->target(0);
  return absl::NotFoundError(
      str_cat("there is no target '", name, "'; the known ones are ", absl::StrJoin(target_names(), ", ")));
}

}  // namespace hearth::runtime
