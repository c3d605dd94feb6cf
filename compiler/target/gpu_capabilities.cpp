#include "compiler/target/gpu_capabilities.h"

#include <absl/strings/escaping.h>
#include <absl/strings/match.h>

#include <bit>

#include "base/text.h"
#include "compiler/target/gpu_arch.h"
#include "proto/target_limits.h"

namespace hearth::target {
namespace {

constexpr std::uint64_t kMinRounds = 1024;
constexpr std::uint32_t kMaxInvocationsOfWorkgroup = 1u << 16;
constexpr std::uint32_t kMaxSums = 1024;

template <typename... Parts>
absl::Status wrong(const Parts&... parts) {
  return absl::InvalidArgumentError(str_cat("target.", parts...));
}

// gridDim.x of CUDA and HIP.
constexpr std::int64_t kMaxWorkgroups = (std::int64_t{1} << 31) - 1;

// By the makers' figures for f16 and f32: an A100's 312 to 19.5 TFLOP/s, an MI250X's 383 to 47.9, a RX 7900 XTX's 123 to
// 61 (a RX 9070 XT's 195 to 49).
double speed_of(ir::MatrixLayout layout) {
  switch (layout) {
    case ir::MatrixLayout::MmaSync16:
      return 16;
    case ir::MatrixLayout::Mfma16:
      return 8;
    case ir::MatrixLayout::WmmaGfx12:
      return 4;
    default:
      return 2;
  }
}

// A launch strides by 64 bits: any number of units.
Capabilities invocations(const v1::Target& record) {
  Capabilities can;
  can.exchanges = record.gpu().subgroup_size() > 1;
  const GpuArch* const arch = find_gpu_arch(record.device(), record.arch());
  if (arch != nullptr && arch->matrix != ir::MatrixLayout::Whole &&
      ir::shape_of(arch->matrix).subgroup == record.gpu().subgroup_size()) {
    const ir::MatrixShape& shape = ir::shape_of(arch->matrix);
    can.matrix_unit = {shape.m, shape.n, shape.k, 1, arch->matrix};
    const ir::MatrixShape& bytes = ir::shape_of(arch->byte_matrix);
    can.byte_matrix_unit = {bytes.m, bytes.n, bytes.k, 1, arch->byte_matrix};
    can.multiplies_unsigned_bytes = arch->matrix != ir::MatrixLayout::Mfma16;
    can.matrix_speed = speed_of(arch->matrix);
  }
  can.is_tuned = true;
  can.unit = Unit::Invocation;
  can.max_workgroups = kMaxWorkgroups;
  return can;
}

}  // namespace

Capabilities cuda_capabilities(const v1::Target& record) { return invocations(record); }

Capabilities hip_capabilities(const v1::Target& record) {
  Capabilities can = invocations(record);
  can.blob_toolchain = "hip";
  return can;
}

absl::Status check_gpu_limits(const v1::GpuLimits& gpu) {
  const std::uint32_t most = gpu.max_workgroup_invocations();
  if (most < 1 || most > kMaxInvocationsOfWorkgroup)
    return wrong("gpu.max_workgroup_invocations: ", most, " is not from 1 to ", kMaxInvocationsOfWorkgroup);
  if (gpu.workgroup_size() < 1 || gpu.workgroup_size() > most)
    return wrong("gpu.workgroup_size: ", gpu.workgroup_size(), " is not from 1 to max_workgroup_invocations, ", most);
  if (!std::has_single_bit(gpu.subgroup_size()) || gpu.subgroup_size() > 128)
    return wrong("gpu.subgroup_size: ", gpu.subgroup_size(), " is no power of two up to 128");
  if (gpu.max_loop_rounds() > 0 && gpu.max_loop_rounds() < kMinRounds)
    return wrong("gpu.max_loop_rounds: ", gpu.max_loop_rounds(), " is less than ", kMinRounds,
                 ", with which no kernel goes far; 0 stands for any number");
  if (gpu.register_values() > kMaxSums)
    return wrong("gpu.register_values: ", gpu.register_values(), " is more than ", kMaxSums);
  if (gpu.load_cost() > kMaxSums) return wrong("gpu.load_cost: ", gpu.load_cost(), " is more than ", kMaxSums);
  if (gpu.shared_load_cost() > kMaxSums)
    return wrong("gpu.shared_load_cost: ", gpu.shared_load_cost(), " is more than ", kMaxSums);
  if (gpu.wanted_invocations() > kMaxTargetWantedInvocations)
    return wrong("gpu.wanted_invocations: ", gpu.wanted_invocations(), " is more than ", kMaxTargetWantedInvocations);
  if (gpu.shared_bytes() > kMaxTargetSharedBytes)
    return wrong("gpu.shared_bytes: ", gpu.shared_bytes(), " is more than ", kMaxTargetSharedBytes);
  return absl::OkStatus();
}

absl::Status check_gpu_record(const v1::Target& record) {
  const bool is_cuda = record.device() == "cuda";
  const std::string_view triple = is_cuda ? "nvptx64-nvidia-cuda" : "amdgcn-amd-amdhsa";
  if (record.triple() != triple && !absl::EndsWith(record.triple(), "-linux-gnu"))
    return wrong("triple: \"", absl::CHexEscape(record.triple().substr(0, 64)), "\" is not ", triple,
                 ", nor a processor's that stands in for it");
  const GpuArch* const arch = find_gpu_arch(record.device(), record.arch());
  if (arch == nullptr)
    return wrong("arch: '", absl::CHexEscape(record.arch().substr(0, 64)), "' is not known; it is one of ",
                 gpu_arch_names(record.device()));
  if (!arch->unknown_to_llvm.empty())
    return absl::UnimplementedError(str_cat("target.arch: ", record.arch(), ": ", arch->unknown_to_llvm));
  if (record.vector_bits() != 0) return wrong("vector_bits: kernels of a GPU are scalar; leave it out");
  return check_gpu_limits(record.gpu());
}

}  // namespace hearth::target
