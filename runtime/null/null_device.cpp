#include "runtime/null/null_device.h"

#include "runtime/cpu/cpu_target.h"
#include "runtime/kernel_abi.h"

namespace hearth::runtime {

void NullExecutable::run(std::uint32_t kernel, void* const*, const std::int64_t*, std::int64_t begin,
                         std::int64_t end) const {
  counts_[kernel].calls.fetch_add(1, std::memory_order_relaxed);
  counts_[kernel].units.fetch_add(static_cast<std::uint64_t>(end - begin), std::memory_order_relaxed);
}

v1::Target NullDevice::target(int threads) const {
  v1::Target target;
  target.set_device("null");
  target.set_threads(static_cast<std::uint32_t>(threads > 0 ? threads : available_cpus()));
  target.set_abi_version(HEARTH_KERNEL_ABI_VERSION);
  return target;
}

absl::StatusOr<std::unique_ptr<Executable>> NullDevice::load(const Plan& plan,
                                                             const std::vector<ArtifactSource>&) const {
  return std::unique_ptr<Executable>(std::make_unique<NullExecutable>(plan.kernels.size()));
}

}  // namespace hearth::runtime
