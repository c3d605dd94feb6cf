#include "compiler/target/vulkan_capabilities.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/target/gpu_capabilities.h"

namespace hearth::target {
namespace {

// A launch numbers its invocations in 32 bits (gl_GlobalInvocationID).
constexpr std::int64_t kMaxInvocationsOfLaunch = std::int64_t{1} << 32;
// maxComputeWorkGroupCount[0] is nowhere less.
constexpr std::int64_t kMaxWorkgroups = 65'535;

absl::Status check_matrices(const v1::Target& record) {
  const v1::GpuLimits& gpu = record.gpu();
  for (const bool of_bytes : {false, true}) {
    if (of_bytes && !gpu.has_cooperative_byte_matrix()) continue;
    const v1::CooperativeMatrix& matrix = of_bytes ? gpu.cooperative_byte_matrix() : gpu.cooperative_matrix();
    if (ir::is_cooperative_shape(matrix.m(), matrix.n(), matrix.k(), gpu.subgroup_size())) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("target.gpu.", of_bytes ? "cooperative_byte_matrix: " : "cooperative_matrix: ", matrix.m(), " x ",
                     matrix.n(), " x ", matrix.k(), " are no powers of two up to 64 of which each of ",
                     gpu.subgroup_size(), " invocations has from 1 to 64 elements"));
  }
  for (const char* feature : {"cooperativeMatrix", "shaderFloat16", "shaderInt16", "vulkanMemoryModel"}) {
    if (std::ranges::count(record.features(), feature) == 0)
      return absl::InvalidArgumentError(
          absl::StrCat("target.gpu.cooperative_matrix: it needs ", feature, ", which target.features lacks"));
  }
  return absl::OkStatus();
}

}  // namespace

// What a matrix unit does in the time of a multiply-add, of which no record says more: a RX 7900 XTX's two, an A100's 16.
constexpr double kMatrixSpeed = 4;

Capabilities vulkan_capabilities(const v1::Target& record) {
  Capabilities can;
  if (const v1::GpuLimits& gpu = record.gpu(); gpu.has_cooperative_matrix()) {
    const auto unit_of = [&](const v1::CooperativeMatrix& matrix) {
      const auto size = [](std::uint32_t value) { return static_cast<std::uint16_t>(value); };
      return ir::WmmaInfo{
          size(matrix.m()),         size(matrix.n()), size(matrix.k()), 1, ir::MatrixLayout::Cooperative,
          size(gpu.subgroup_size())};
    };
    can.matrix_unit = unit_of(gpu.cooperative_matrix());
    can.multiplies_bf16 = can.multiplies_unsigned_bytes = false;
    if (gpu.has_cooperative_byte_matrix()) can.byte_matrix_unit = unit_of(gpu.cooperative_byte_matrix());
    can.matrix_speed = kMatrixSpeed;
  }
  can.is_tuned = true;
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
  if (record.gpu().has_cooperative_matrix()) return check_matrices(record);
  return absl::OkStatus();
}

}  // namespace hearth::target
