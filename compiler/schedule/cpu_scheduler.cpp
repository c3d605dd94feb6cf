#include "compiler/schedule/schedulers.h"
#include "compiler/schedule/search.h"

namespace hearth::schedule {
namespace {

class CpuScheduler final : public Scheduler {
 public:
  std::vector<Opt> choose(ir::UOpRef kernel, const target::Target& target, double work,
                          const std::vector<SlotFacts>& slots) const override {
    return heuristic_cpu(kernel, target, work, slots);
  }
  std::vector<std::vector<Opt>> neighbours(ir::UOpRef kernel, const target::Target& target,
                                           const Neighbourhood& of) const override {
    return schedule::neighbours(kernel, target, of);
  }
};

}  // namespace

const Scheduler& cpu_scheduler() {
  static const CpuScheduler scheduler;
  return scheduler;
}

}  // namespace hearth::schedule
