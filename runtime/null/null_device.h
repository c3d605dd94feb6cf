// The null device: runs nothing and counts launches; its kernels have no artifacts. For tests, for measuring the cost
// of everything but kernels, and as the template of a new device. Its kernels are scalar and the same on every machine;
// launches are divided between threads as a CPU's are. Thread-safe.
//
//   const auto& recorded = dynamic_cast<const NullExecutable&>(plan->executable());
//   std::uint64_t n = recorded.calls(kernel);
#pragma once
#include <atomic>

#include "runtime/device.h"

namespace hearth::runtime {

class NullExecutable : public Executable {
 public:
  explicit NullExecutable(std::size_t num_kernels) : counts_(num_kernels) {}
  void run(std::uint32_t kernel, void* const* buffers, const std::int64_t* vars, std::int64_t begin,
           std::int64_t end) const override;
  std::uint64_t calls(std::uint32_t kernel) const { return counts_[kernel].calls.load(); }
  std::uint64_t units(std::uint32_t kernel) const { return counts_[kernel].units.load(); }

 private:
  struct Count {
    std::atomic<std::uint64_t> calls{0};
    std::atomic<std::uint64_t> units{0};
  };
  mutable std::vector<Count> counts_;
};

class NullDevice : public Device {
 public:
  std::string_view name() const override { return "null"; }
  v1::Target target(int threads) const override;
  absl::StatusOr<std::unique_ptr<Executable>> load(const Plan& plan,
                                                   const std::vector<ArtifactSource>& artifacts) const override;
};

}  // namespace hearth::runtime
