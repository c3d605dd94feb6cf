// The CPU device: kernels are functions of ELF shared objects (base/kernel_abi.h). Thread-safe.
// Errors: FailedPrecondition naming the features this CPU lacks or a wrong ABI version; DataLoss for an artifact whose
// digest differs; NotFound for a missing symbol.
//
//   v1::Target target = CpuDevice().target(/*threads=*/0);
#pragma once
#include "runtime/hal/device.h"

namespace hearth::runtime {

class CpuDevice : public Device {
 public:
  std::string_view name() const override { return "cpu"; }
  v1::Target target(int threads) const override;
  bool reaches_host_memory() const override { return true; }
  bool shares_weights() const override { return true; }
  absl::StatusOr<Buffer> allocate(std::size_t size_bytes, std::string_view what, MemoryUse use) const override;
  absl::StatusOr<std::unique_ptr<Executable>> load(const Plan& plan,
                                                   const std::vector<ArtifactSource>& artifacts) const override;
};

// Whether this host runs code compiled for `target`.
absl::Status check_cpu_target(const v1::Target& target);

}  // namespace hearth::runtime
