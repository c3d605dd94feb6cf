// The null device: records launches as a GPU's command buffer would have them, and computes nothing; its kernels have
// no artifacts. For tests, for measuring the cost of everything but kernels, and as the template of a new device. Its
// kernels are scalar and the same on every machine. Thread-safe.
//
//   const auto& recorded = dynamic_cast<const NullExecutable&>(plan->executable());
//   std::uint64_t n = recorded.calls(kernel);
#pragma once
#include <atomic>

#include "runtime/hal/device.h"

namespace hearth::runtime {

// What one launch of one step of a loop is.
struct NullCommand {
  std::uint32_t step = 0;  // of the rows
  bool waits = false;      // for all commands before it
  bool runs = true;        // false: of a step that its loop has not at these values, with no units
  std::int64_t units = 0;
  std::vector<void*> addresses;
  std::vector<std::int64_t> values;
};

class NullExecutable : public Executable {
 public:
  explicit NullExecutable(std::size_t num_kernels) : counts_(num_kernels) {}
  absl::StatusOr<std::unique_ptr<Program>> program(Rows& rows, const HostWork& host) const override;
  // Launches of units, of all programs.
  std::uint64_t calls(std::uint32_t kernel) const { return counts_[kernel].calls.load(); }
  std::uint64_t units(std::uint32_t kernel) const { return counts_[kernel].units.load(); }
  void count(std::uint32_t kernel, std::int64_t units) const;

 private:
  struct Count {
    std::atomic<std::uint64_t> calls{0};
    std::atomic<std::uint64_t> units{0};
  };
  mutable std::vector<Count> counts_;
};

class NullProgram : public Program {
 public:
  NullProgram(const NullExecutable& executable, Rows& rows);
  absl::Status run() override;
  absl::Status run_profiled(Profile& profile) override;
  absl::Status rows_changed() override;
  const std::vector<NullCommand>& commands() const { return commands_; }

 private:
  void record();
  const NullExecutable& executable_;
  Rows& rows_;
  std::vector<NullCommand> commands_;
};

class NullDevice : public Device {
 public:
  std::string_view name() const override { return "null"; }
  v1::Target target(int threads) const override;
  bool reaches_host_memory() const override { return true; }
  absl::StatusOr<Buffer> allocate(std::size_t size_bytes, std::string_view what, MemoryUse use) const override;
  absl::StatusOr<std::unique_ptr<Executable>> load(const Plan& plan,
                                                   const std::vector<ArtifactSource>& artifacts) const override;
};

}  // namespace hearth::runtime
