#include "compiler/target/vulkan_capabilities.h"

#include <algorithm>

#include "base/status_macros.h"
#include "compiler/target/gpu_capabilities.h"

namespace hearth::target {
namespace {

// A launch numbers its invocations in 32 bits (gl_GlobalInvocationID).
constexpr std::int64_t kMaxInvocationsOfLaunch = std::int64_t{1} << 32;
// maxComputeWorkGroupCount[0] is nowhere less.
constexpr std::int64_t kMaxWorkgroups = 65'535;

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
  HEARTH_RETURN_IF_ERROR(check_gpu_limits(record.gpu()));
  if (record.gpu().max_buffer_bytes() < 1)
    return absl::InvalidArgumentError("target.gpu.max_buffer_bytes: no buffer fits in 0 bytes");
  return absl::OkStatus();
}

}  // namespace hearth::target
