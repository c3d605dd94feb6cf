// Kernels that are functions of this process: HostExecutable calls one for a share of a launch's units, and its
// programs divide launches between host threads.
//
//   class MyExecutable : public HostExecutable { void run(...) const override { functions[kernel](...); } };
#pragma once
#include "runtime/hal/device.h"
#include "runtime/thread_pool.h"

namespace hearth::runtime {

class HostExecutable : public Executable {
 public:
  // Computes units [begin, end) of plan kernel `kernel`; allocates nothing, fails never.
  virtual void run(std::uint32_t kernel, void* const* buffers, const std::int64_t* vars, std::int64_t begin,
                   std::int64_t end) const = 0;
  absl::StatusOr<std::unique_ptr<Program>> program(Rows& rows, const HostWork& host) const override;
};

}  // namespace hearth::runtime
