// Interpreter of linear kernel bodies whose units are workgroups: every invocation runs by itself from barrier to barrier,
// in an order that is drawn anew each time, and their accesses are compared (race_log.h).
//
// Errors: those of linear_machine.h and of race_log.h; FAILED_PRECONDITION where invocations of a workgroup come to
// different barriers, to one in different rounds of a loop, or end while others wait, naming two of them. Not
// thread-safe.
//
//   absl::Status status = interpret_workgroups(body, run, {.invocations = 64, .seed = 1});
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/codegen/reference/kernel_memory.h"
#include "compiler/ir/uop.h"

namespace hearth::codegen::reference {

struct WorkgroupRun {
  std::int64_t invocations = 1;              // of a workgroup: the size of the kernel's Invocation range
  std::int64_t workgroups = 1;               // units of the grid: those before this one
  std::int64_t first = 0;                    // from this one on
  std::uint64_t seed = 1;                    // of the orders
  std::vector<std::uint32_t> left_out = {};  // barriers, by id, that are passed as if they were not there
};

absl::Status interpret_workgroups(std::span<const ir::UOpRef> body, const KernelRun& run, const WorkgroupRun& how);

// The kernel's barriers, by id, without which no run of it has a race: they are not needed. `run`'s buffers are
// not changed. The error of a run with all of them.
absl::StatusOr<std::vector<std::uint32_t>> redundant_barriers(std::span<const ir::UOpRef> body, const KernelRun& run,
                                                              const WorkgroupRun& how);

}  // namespace hearth::codegen::reference
