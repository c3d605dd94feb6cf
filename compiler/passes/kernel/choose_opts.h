// choose_opts: opts for one flat kernel: those of a tuning record where there is one that fits, else the scheduler's. A
// record that does not fit costs a warning, never the kernel.
#pragma once
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/passes/kernel/kernel_context.h"
#include "compiler/schedule/flat_kernel.h"

namespace hearth::passes {

// What a flat kernel's text does not say.
struct FlatFacts {
  double work = 0;                         // Kernel::work
  std::vector<schedule::SlotFacts> slots;  // by slot
  bool may_pack = false;
  const KernelTask* task = nullptr;  // its opts, where it has some; errors are told
};
// Facts about a task's kernel, whose slots are `kernel.buffers`.
FlatFacts facts_of(const KernelContext& context, const KernelTask& task, const Kernel& kernel);

struct ChosenOpts {
  std::vector<schedule::Opt> opts;  // in the kernel's own axes and slots; apply_opts takes them
  v1::KernelChoice choice;          // with Tuning::describe
};

absl::StatusOr<ChosenOpts> choose_opts(const KernelContext& context, ir::UOpRef flat, const FlatFacts& facts);

}  // namespace hearth::passes
