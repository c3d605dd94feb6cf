// The kind of device that a StreamApi's are: CUDA's and HIP's drivers, and the records of their GPUs.
//
//   static const StreamDriver& driver = *new StreamDriver({"cuda", "CUDA", {"ptx", ".ptx"}, gpu_targets(...), &cuda_api});
#pragma once
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>

#include "runtime/hal/stream/stream_device.h"

namespace hearth::runtime {

class StreamDriver final : public Driver {
 public:
  struct Parts {
    std::string_view name, title;
    KernelFormat format;
    std::vector<NamedTarget> targets;
    absl::StatusOr<const StreamApi*> (*api)();  // the same every time
  };
  explicit StreamDriver(Parts parts) : parts_(std::move(parts)) {}

  std::string_view name() const override { return parts_.name; }
  std::string_view title() const override { return parts_.title; }
  std::vector<std::string> forms() const override;
  KernelFormat format() const override { return parts_.format; }
  std::vector<NamedTarget> targets() const override { return parts_.targets; }
  absl::StatusOr<std::vector<DeviceInfo>> devices() const override;
  absl::StatusOr<const Device*> find(std::string_view which) const override;

 private:
  absl::StatusOr<std::vector<StreamDeviceInfo>> infos() const;

  const Parts parts_;
  mutable std::mutex mutex_;
  mutable std::map<int, std::unique_ptr<StreamDevice>> devices_;  // by number; never destroyed
};

// A GPU that kernels are compiled for: its name in LLVM, and the invocations of a subgroup.
struct GpuArchLimits {
  const char* name;
  std::uint32_t subgroup_size;
};
std::vector<NamedTarget> gpu_targets(const char* device, const char* triple, std::initializer_list<GpuArchLimits> archs,
                                     std::uint32_t shared_bytes);

}  // namespace hearth::runtime
