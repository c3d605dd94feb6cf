#include "compiler/schedule/invocation_tile.h"
#include "compiler/schedule/schedulers.h"

namespace hearth::schedule {
namespace {

class InvocationScheduler final : public Scheduler {
 public:
  std::vector<Opt> choose(ir::UOpRef kernel, const target::Target& target, double,
                          const std::vector<SlotFacts>&) const override {
    if (kernel->sources.size() != 1) return {};
    return tile_of_invocation(KernelFacts(kernel, kernel->source(0), target), target);
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
