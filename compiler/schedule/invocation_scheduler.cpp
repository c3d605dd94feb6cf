#include "compiler/schedule/schedulers.h"

namespace hearth::schedule {
namespace {

class InvocationScheduler final : public Scheduler {
 public:
  std::vector<Opt> choose(ir::UOpRef, const target::Target&, double, const std::vector<SlotFacts>&) const override {
    return {};
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
