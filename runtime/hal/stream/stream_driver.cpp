#include "runtime/hal/stream/stream_driver.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "base/kernel_abi.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "runtime/hal/cpu/cpu_target.h"
#include "runtime/hal/gpu/choose_device.h"
#include "runtime/hal/stream/stream_error.h"

namespace hearth::runtime {
namespace {

// A GPU's kernels have workgroups of four warps or two waves.
constexpr std::uint32_t kWorkgroup = 128, kMaxInvocations = 1024;

absl::Status failed(const StreamApi& api, Entry entry, int error) {
  return absl::Status(code_of_stream_error(error),
                      str_cat(api.entry_name(entry), ": ", api.error_name(error), remedy_of(error)));
}

// What is the same for both drivers.
absl::Status describe(const StreamApi& api, int ordinal, StreamDeviceInfo& info) {
  int device = 0;
  if (const int error = api.device(&device, ordinal)) return failed(api, Entry::device, error);
  char name[256] = {}, uuid[16] = {};
  if (const int error = api.device_name(name, sizeof name - 1, device)) return failed(api, Entry::device_name, error);
  if (const int error = api.device_uuid(uuid, device)) return failed(api, Entry::device_uuid, error);
  std::size_t bytes = 0;
  if (const int error = api.device_memory(&bytes, device)) return failed(api, Entry::device_memory, error);
  info.name = absl::Utf8SafeCHexEscape(name);
  info.uuid.assign(uuid, sizeof uuid);
  info.memory_bytes = bytes;
  info.type = "discrete";
  return api.describe(ordinal, info);
}

}  // namespace

std::vector<std::string> StreamDriver::forms() const {
  const std::string name(parts_.name);
  return {name, name + ":N", name + ":UUID"};
}

absl::StatusOr<std::vector<StreamDeviceInfo>> StreamDriver::infos() const {
  HEARTH_ASSIGN_OR_RETURN(const StreamApi* const api, parts_.api());
  HEARTH_RETURN_IF_ERROR(api->check_usable());
  int count = 0;
  if (const int error = api->device_count(&count)) return failed(*api, Entry::device_count, error);
  std::vector<StreamDeviceInfo> infos;
  for (int i = 0; i < count; ++i) {
    StreamDeviceInfo& info = infos.emplace_back();
    info.ordinal = i;
    info.device = str_cat(name(), ":", i);
    if (const absl::Status described = describe(*api, i, info); !described.ok()) {
      info.unusable = std::string(described.message());
      continue;
    }
    const auto known = std::ranges::find_if(
        parts_.targets, [&](const NamedTarget& target) { return target.record.arch() == info.target.arch(); });
    if (!info.unusable.empty()) continue;
    if (known == parts_.targets.end()) {
      info.unusable = str_cat("kernels are not compiled for ", info.target.arch());
      continue;
    }
    const std::uint32_t most_ms = info.target.gpu().max_invocation_ms();
    info.target = known->record;  // so that what was prepared for it by name is found
    if (most_ms > 0) info.target.mutable_gpu()->set_max_invocation_ms(most_ms);
    if (api->takes_host_code) info.target = as_host_code(info.target);
  }
  return infos;
}

absl::StatusOr<std::vector<DeviceInfo>> StreamDriver::devices() const {
  HEARTH_ASSIGN_OR_RETURN(const std::vector<StreamDeviceInfo> all, infos());
  if (all.empty()) return absl::NotFoundError(str_cat("the ", title(), " driver has no device"));
  return std::vector<DeviceInfo>(all.begin(), all.end());
}

absl::StatusOr<const Device*> StreamDriver::find(std::string_view which) const {
  HEARTH_ASSIGN_OR_RETURN(const StreamApi* const api, parts_.api());
  HEARTH_ASSIGN_OR_RETURN(const std::vector<StreamDeviceInfo> all, infos());
  HEARTH_ASSIGN_OR_RETURN(const std::size_t chosen, choose_device({all.begin(), all.end()}, name(), title(), which));
  const StreamDeviceInfo& info = all[chosen];
  if (!info.unusable.empty())
    return absl::FailedPreconditionError(str_cat("device '", info.device, "', ", info.name, ": ", info.unusable));
  const std::lock_guard lock(mutex_);
  std::unique_ptr<StreamDevice>& device = devices_[info.ordinal];
  if (!device) device = std::make_unique<StreamDevice>(*api, info);
  return device.get();
}

std::vector<NamedTarget> gpu_targets(const char* device, const char* triple, std::initializer_list<GpuArchLimits> archs,
                                     std::uint32_t shared_bytes) {
  std::vector<NamedTarget> targets;
  for (const GpuArchLimits& arch : archs) {
    NamedTarget& target = targets.emplace_back();
    target.name = str_cat(device, ":", arch.name);
    target.record.set_device(device);
    target.record.set_triple(triple);
    target.record.set_arch(arch.name);
    target.record.set_threads(1);
    target.record.set_abi_version(HEARTH_KERNEL_ABI_VERSION);
    v1::GpuLimits& gpu = *target.record.mutable_gpu();
    gpu.set_subgroup_size(arch.subgroup_size);
    gpu.set_max_workgroup_invocations(kMaxInvocations);
    gpu.set_workgroup_size(kWorkgroup);
    gpu.set_shared_bytes(shared_bytes);
  }
  return targets;
}

}  // namespace hearth::runtime
