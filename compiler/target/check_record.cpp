#include "compiler/target/check_record.h"

#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <bit>
#include <string_view>

namespace hearth::target {
namespace {

constexpr std::uint32_t kMaxVectorBits = 2048;  // of any processor that is known
constexpr std::uint64_t kMinRounds = 1024;
constexpr std::uint32_t kMaxInvocations = 1u << 16;

template <typename... Parts>
absl::Status wrong(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("target.", parts...));
}

absl::Status check_gpu(const v1::GpuLimits& gpu) {
  const std::uint32_t most = gpu.max_workgroup_invocations();
  if (most < 1 || most > kMaxInvocations)
    return wrong("gpu.max_workgroup_invocations: ", most, " is not from 1 to ", kMaxInvocations);
  if (gpu.workgroup_size() < 1 || gpu.workgroup_size() > most)
    return wrong("gpu.workgroup_size: ", gpu.workgroup_size(), " is not from 1 to max_workgroup_invocations, ", most);
  if (!std::has_single_bit(gpu.subgroup_size()) || gpu.subgroup_size() > 128)
    return wrong("gpu.subgroup_size: ", gpu.subgroup_size(), " is no power of two up to 128");
  if (gpu.max_loop_rounds() > 0 && gpu.max_loop_rounds() < kMinRounds)
    return wrong("gpu.max_loop_rounds: ", gpu.max_loop_rounds(), " is less than ", kMinRounds,
                 ", with which no kernel goes far; 0 stands for any number");
  if (gpu.max_buffer_bytes() < 1) return wrong("gpu.max_buffer_bytes: no buffer fits in 0 bytes");
  return absl::OkStatus();
}

}  // namespace

absl::Status check_record(const v1::Target& record) {
  const std::string& device = record.device();
  if (device != "cpu" && device != "null" && device != "hip" && device != "vulkan")
    return wrong("device: '", absl::CHexEscape(device.substr(0, 64)), "' is not known; it is cpu, null, hip or vulkan");
  if (record.vector_bits() % 32 != 0 || record.vector_bits() > kMaxVectorBits)
    return wrong("vector_bits: ", record.vector_bits(), " is no multiple of 32 up to ", kMaxVectorBits);
  if (device != "vulkan") return absl::OkStatus();
  const auto has = [&](std::string_view feature) { return std::ranges::count(record.features(), feature) > 0; };
  // A kernel finds its buffers by their addresses.
  if (!has("bufferDeviceAddress"))
    return absl::UnimplementedError(
        "target.features: kernels for Vulkan need bufferDeviceAddress, which the record lacks");
  return check_gpu(record.gpu());
}

}  // namespace hearth::target
