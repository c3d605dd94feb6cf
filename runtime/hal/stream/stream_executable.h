// A plan's kernels as functions of one device's modules. Immutable; thread-safe.
#pragma once
#include <memory>
#include <vector>

#include "runtime/hal/device.h"
#include "runtime/hal/stream/stream_context.h"
#include "runtime/hal/stream/stream_memory.h"

namespace hearth::runtime {

class StreamExecutable final : public Executable {
 public:
  // Errors: NOT_FOUND, DATA_LOSS naming the kernel and its artifact; the driver's, naming the kernel.
  static absl::StatusOr<std::unique_ptr<StreamExecutable>> load(const std::shared_ptr<const StreamContext>& context,
                                                                const std::shared_ptr<StreamMemory>& memory,
                                                                const Plan& plan,
                                                                const std::vector<ArtifactSource>& artifacts);
  absl::StatusOr<std::unique_ptr<Program>> program(Rows& rows, const HostWork& host) const override;

  void* function(std::uint32_t kernel) const { return functions_[kernel]; }

 private:
  std::shared_ptr<const StreamContext> context_;
  std::shared_ptr<StreamMemory> memory_;
  std::vector<StreamModule> modules_;
  std::vector<void*> functions_;  // by kernel
};

}  // namespace hearth::runtime
