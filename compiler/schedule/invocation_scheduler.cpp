#include "compiler/schedule/invocation_tile.h"
#include "compiler/schedule/matrix_tile.h"
#include "compiler/schedule/schedulers.h"
#include "compiler/schedule/workgroup_rows.h"
#include "compiler/schedule/workgroup_tile.h"

namespace hearth::schedule {
namespace {

class InvocationScheduler final : public Scheduler {
 public:
  std::vector<Opt> choose(ir::UOpRef kernel, const target::Target& target, double,
                          const std::vector<SlotFacts>&) const override {
    if (kernel->sources.size() != 1) return {};
    const KernelFacts facts(kernel, kernel->source(0), target);
    if (const std::optional<TileAxes> axes = tile_axes(facts)) {
      const TimedOpts alone = tile_of_invocation(facts, *axes, target);
      const TimedOpts together = tile_of_workgroup(facts, *axes, target);
      const TimedOpts by_unit = tile_of_matrix_unit(facts, *axes, target);
      if (by_unit.time < std::min(alone.time, together.time)) return by_unit.opts;
      std::vector<Opt> rows = alone.opts.empty() ? rows_of_workgroup(facts, target) : std::vector<Opt>();
      if (!rows.empty()) return rows;
      return together.time < alone.time ? together.opts : alone.opts;
    }
    return rows_of_workgroup(facts, target);
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
