// Scheduler: what chooses the opts of a kernel for a kind of target, and what a search may try instead of them. One is
// found by the target, as its code generator is (codegen/generator.h). Stateless; thread-safe; the same arguments give
// the same opts on any host.
//
//   std::vector<Opt> opts = scheduler_for(target).choose(flat, target, work, slots);
//
// Another one is a file with a class of this kind (schedulers.h names it) and a line in scheduler_for().
#pragma once
#include <string_view>
#include <vector>

#include "compiler/schedule/opts.h"
#include "compiler/target/target.h"

namespace hearth::schedule {

class Scheduler {
 public:
  virtual ~Scheduler() = default;

  // For `kernel`, sink(store(index(param | allocation, position, gate), value, ranges...)...), whose `work` is counted
  // as passes/kernel/kernel.h has it; `slots`: one a param, or none where nothing may be packed.
  virtual std::vector<Opt> choose(ir::UOpRef kernel, const target::Target& target, double work,
                                  const std::vector<SlotFacts>& slots) const = 0;

  // Opts one change away from `opts`, distinct, likely gains first; none where nothing is tuned. Not every one is
  // legal; the ones that are compute the same (passes/kernel/apply_opts). Without `may_pack`, none packs.
  using Neighbourhood = schedule::Neighbourhood;
  virtual std::vector<std::vector<Opt>> neighbours(ir::UOpRef kernel, const target::Target& target,
                                                   const Neighbourhood& of) const = 0;
};

// The scheduler that was registered for the target's kind, else the one for its unit of a launch.
const Scheduler& scheduler_for(const target::Target& target);

// For targets of this device (target/target_kind.h). Borrowed, until the process ends.
void register_scheduler(std::string_view device, const Scheduler& scheduler);

}  // namespace hearth::schedule
