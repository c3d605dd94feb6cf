#include "compiler/schedule/invocation_tile.h"
#include "compiler/schedule/schedulers.h"
#include "compiler/schedule/workgroup_rows.h"

namespace hearth::schedule {
namespace {

class InvocationScheduler final : public Scheduler {
 public:
  std::vector<Opt> choose(ir::UOpRef kernel, const target::Target& target, double,
                          const std::vector<SlotFacts>&) const override {
    if (kernel->sources.size() != 1) return {};
    const KernelFacts facts(kernel, kernel->source(0), target);
    std::vector<Opt> opts = tile_of_invocation(facts, target);
    return opts.empty() ? rows_of_workgroup(facts, target) : opts;
  }
  std::vector<std::vector<Opt>> neighbours(ir::UOpRef, const target::Target&, const Neighbourhood&) const override {
    return {};
  }
};

}  // namespace

const Scheduler& invocation_scheduler() {
  static const InvocationScheduler scheduler;
  return scheduler;
}

}  // namespace hearth::schedule
