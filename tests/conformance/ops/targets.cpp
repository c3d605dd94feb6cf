// The targets that programs are run for.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/kernel_abi.h"
#include "runtime/devices/devices.h"
#include "runtime/devices/named_target.h"
#include "runtime/hal/cpu/cpu_target.h"
#include "tests/conformance/ops/program.h"
#include "tests/support/skip.h"

namespace hearth::conformance {
namespace {

v1::Target target_with(const std::vector<std::string>& features, std::uint32_t vector_bits) {
  v1::Target target;
  target.set_device("cpu");
  if (on_aarch64()) {
    target.set_triple("aarch64-unknown-linux-gnu");
    target.add_features("neon");
    target.set_vector_bits(128);
  } else {
    target.set_triple("x86_64-unknown-linux-gnu");
    for (const std::string& feature : features) target.add_features(feature);
    target.set_vector_bits(vector_bits);
  }
  target.set_threads(1);
  target.set_abi_version(HEARTH_KERNEL_ABI_VERSION);
  return target;
}

}  // namespace

bool on_aarch64() {
  static const char* const device = std::getenv("HEARTH_CONFORMANCE_DEVICE");
  return device != nullptr && std::string_view(device) == "aarch64";
}

v1::Target host_target() {
  if (on_aarch64()) return target_with({}, 128);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return target_with({"avx", "avx2", "f16c", "fma", "sse4.2"}, 256);
  test::skip_part("this processor has no AVX2 and FMA: vectors of 128 bits");
  return baseline_target();
}

v1::Target wide_target() {
  if (on_aarch64()) return host_target();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    test::skip_part("this processor has no AVX2: vectors of 512 bits run in quarters");
    return target_with({}, 512);
  }
  if (!__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512bw")) {
    test::skip_part("this processor has no AVX-512VL and BW: vectors of 512 bits run in halves");
    return target_with({"avx", "avx2", "f16c", "fma", "sse4.2"}, 512);
  }
  return target_with({"avx", "avx2", "avx512bw", "avx512dq", "avx512f", "avx512vl", "f16c", "fma", "sse4.2"}, 512);
}

v1::Target dot_target() {
  if (on_aarch64()) return host_target();
  const std::vector<std::string>& host = runtime::host_cpu_features();
  auto has = [&](const char* name) { return std::ranges::find(host, name) != host.end(); };
  v1::Target target = has("avx512vl") ? wide_target() : host_target();
  const int plain = target.features_size();
  for (const char* name : {"avx512bf16", "avx512vnni", "avxvnni"}) {
    if (has(name)) target.add_features(name);
  }
  if (target.features_size() == plain) test::skip_part("this processor has no dot products of bytes or bf16");
  return target;
}

v1::Target small_cache_target() {
  v1::Target target = host_target();
  target.set_l2_bytes(256);
  return target;
}

v1::Target threaded_target() {
  v1::Target target = host_target();
  target.set_threads(3);
  target.set_fork_work(1);
  return target;
}

v1::Target baseline_target() { return target_with({}, 128); }

bool on_gpu() { return std::getenv("HEARTH_CONFORMANCE_DEVICE") != nullptr && !on_aarch64(); }

bool on_vulkan() {
  static const char* const device = std::getenv("HEARTH_CONFORMANCE_DEVICE");
  return device != nullptr && std::string_view(device) == "vulkan";
}

absl::StatusOr<const runtime::Device*> replay_device() {
  return runtime::find_device(std::getenv("HEARTH_CONFORMANCE_DEVICE"));
}

absl::Status find_gpu() { return on_vulkan() ? VulkanRunner::get().status() : replay_device().status(); }

v1::Target gpu_target() {
  if (on_vulkan()) return *runtime::named_target("vulkan:lavapipe");
  const absl::StatusOr<const runtime::Device*> device = replay_device();
  return device.ok() ? (*device)->target(1) : *runtime::named_target("cuda:sm_90a");
}

v1::Target workgroup_target(std::uint32_t subgroup) {
  v1::Target target = gpu_target();
  target.mutable_gpu()->set_subgroup_size(subgroup);
  target.mutable_gpu()->set_wanted_invocations(1 << 20);
  return target;
}

v1::Target tile_target() {
  v1::Target target = gpu_target();
  target.mutable_gpu()->set_register_values(16);
  target.mutable_gpu()->set_wanted_invocations(1);
  return target;
}

v1::Target shared_tile_target(std::uint32_t subgroup) {
  v1::Target target = tile_target();
  target.mutable_gpu()->set_subgroup_size(subgroup);
  target.mutable_gpu()->set_load_cost(100);
  target.mutable_gpu()->set_shared_load_cost(1);
  return target;
}

// lavapipe's record with the matrices of the device at hand, or with those of its later releases.
static v1::Target cooperative_target() {
  v1::Target target = gpu_target();
  v1::GpuLimits& gpu = *target.mutable_gpu();
  const absl::StatusOr<VulkanRunner*> runner = VulkanRunner::get();
  if (runner.ok() && (*runner)->matrices().has_cooperative_matrix()) {
    gpu.MergeFrom((*runner)->matrices());
  } else {
    v1::CooperativeMatrix& matrix = *gpu.mutable_cooperative_matrix();
    matrix.set_m(8), matrix.set_n(8), matrix.set_k(8);
    *gpu.mutable_cooperative_byte_matrix() = matrix;
  }
  for (const char* feature : {"cooperativeMatrix", "shaderFloat16", "vulkanMemoryModel"}) target.add_features(feature);
  std::sort(target.mutable_features()->begin(), target.mutable_features()->end());
  return target;
}

v1::Target matrix_target() {
  v1::Target target = on_vulkan() ? cooperative_target() : gpu_target();
  target.mutable_gpu()->set_wanted_invocations(1);
  target.mutable_gpu()->set_load_cost(1);
  target.mutable_gpu()->clear_shared_load_cost();
  return target;
}

}  // namespace hearth::conformance
