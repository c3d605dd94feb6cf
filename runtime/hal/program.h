// Program: one instance's launches on a device, made once and run again and again. What it was made of (kernels, the
// order of launches, which are run again) never changes; rows do, and it is told. Used by one thread at a time.
// Errors: every call has a status, and what a device may say is UNAVAILABLE (it was lost), RESOURCE_EXHAUSTED (it has
// no memory left), DEADLINE_EXCEEDED (it did not answer) or INTERNAL (it refused a launch).
//
//   absl::StatusOr<std::unique_ptr<Program>> program = executable.program(rows, {.threads = 4});
//   absl::Status ran = (*program)->run();
#pragma once
#include "absl/status/status.h"
#include "hearth/profile.h"

namespace hearth::runtime {

class Program {
 public:
  virtual ~Program() = default;
  // All launches in their order; returns when their results are there. Allocates nothing.
  virtual absl::Status run() = 0;
  // Queues all launches behind what `stream`, one of the device's driver, has, and returns. Later runs come after them.
  virtual absl::Status queue_on(void* stream);
  // Until what was queued has ended; its error. OK where nothing is.
  virtual absl::Status wait() { return absl::OkStatus(); }
  // As run(), and adds each step's time, operations and runs to its entry of `profile.launches` (one a step).
  virtual absl::Status run_profiled(Profile& profile) = 0;
  // Addresses, values, units or counts of loops differ from those of the run before.
  virtual absl::Status rows_changed() = 0;
};

}  // namespace hearth::runtime
