#include "compiler/target/vulkan_capabilities.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <bit>
#include <string_view>

namespace hearth::target {
namespace {

// A launch numbers its invocations in 32 bits (gl_GlobalInvocationID).
constexpr std::int64_t kMaxInvocationsOfLaunch = std::int64_t{1} << 32;
// maxComputeWorkGroupCount[0] is nowhere less.
constexpr std::int64_t kMaxWorkgroups = 65'535;
constexpr std::uint64_t kMinRounds = 1024;
constexpr std::uint32_t kMaxInvocationsOfWorkgroup = 1u << 16;

template <typename... Parts>
absl::Status wrong(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("target.gpu.", parts...));
}

}  // namespace

Capabilities vulkan_capabilities(const v1::Target&) {
  Capabilities can;
  can.unit = Unit::Invocation;
  can.max_units = kMaxInvocationsOfLaunch;
  can.max_workgroups = kMaxWorkgroups;
  return can;
}

absl::Status check_vulkan_record(const v1::Target& record) {
  // A kernel finds its buffers by their addresses.
  if (std::ranges::count(record.features(), "bufferDeviceAddress") == 0)
    return absl::UnimplementedError(
        "target.features: kernels for Vulkan need bufferDeviceAddress, which the record lacks");
  const v1::GpuLimits& gpu = record.gpu();
  const std::uint32_t most = gpu.max_workgroup_invocations();
  if (most < 1 || most > kMaxInvocationsOfWorkgroup)
    return wrong("max_workgroup_invocations: ", most, " is not from 1 to ", kMaxInvocationsOfWorkgroup);
  if (gpu.workgroup_size() < 1 || gpu.workgroup_size() > most)
    return wrong("workgroup_size: ", gpu.workgroup_size(), " is not from 1 to max_workgroup_invocations, ", most);
  if (!std::has_single_bit(gpu.subgroup_size()) || gpu.subgroup_size() > 128)
    return wrong("subgroup_size: ", gpu.subgroup_size(), " is no power of two up to 128");
  if (gpu.max_loop_rounds() > 0 && gpu.max_loop_rounds() < kMinRounds)
    return wrong("max_loop_rounds: ", gpu.max_loop_rounds(), " is less than ", kMinRounds,
                 ", with which no kernel goes far; 0 stands for any number");
  if (gpu.max_buffer_bytes() < 1) return wrong("max_buffer_bytes: no buffer fits in 0 bytes");
  return absl::OkStatus();
}

}  // namespace hearth::target
