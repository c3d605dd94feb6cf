#include <algorithm>

#include "compiler/schedule/invocation_tile.h"
#include "compiler/schedule/kept_rows.h"
#include "compiler/schedule/matrix_tile.h"
#include "compiler/schedule/opts_proto.h"
#include "compiler/schedule/schedulers.h"
#include "compiler/schedule/workgroup_rows.h"
#include "compiler/schedule/workgroup_tile.h"

namespace hearth::schedule {
namespace {

class InvocationScheduler final : public Scheduler {
 public:
  std::vector<Opt> choose(ir::UOpRef kernel, const target::Target& target, double,
                          const std::vector<SlotFacts>&) const override {
    if (kernel->sources.size() != 1) return opts_of_kept_rows(kernel, target);
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
  // Every form that the kernel may have, by the estimate the best of each first: what is close by estimate is told
  // apart by the clock. The same whatever `of.opts` are.
  std::vector<std::vector<Opt>> neighbours(ir::UOpRef kernel, const target::Target& target,
                                           const Neighbourhood& of) const override {
    if (kernel->sources.size() != 1) return {};
    const KernelFacts facts(kernel, kernel->source(0), target);
    std::vector<std::vector<TimedOpts>> forms;
    if (const std::optional<TileAxes> axes = tile_axes(facts)) {
      forms.push_back(tiles_of_matrix_unit(facts, *axes, target));
      forms.push_back(tiles_of_workgroup(facts, *axes, target));
      forms.push_back(tiles_of_invocation(facts, *axes, target));
    }
    for (std::vector<TimedOpts>& form : forms) std::ranges::stable_sort(form, {}, &TimedOpts::time);
    std::vector<TimedOpts>& rows = forms.emplace_back();
    for (std::vector<Opt>& opts : all_rows_of_workgroup(facts, target)) rows.push_back({std::move(opts), 0});
    if (forms.size() == 1 && !rows.empty()) rows.push_back({});  // an invocation a row
    std::vector<std::vector<Opt>> lists;
    for (std::size_t place = 0; place < kOfAForm; ++place) {
      for (const std::vector<TimedOpts>& form : forms) {
        if (place < form.size() && !is_same(form[place].opts, of.opts)) lists.push_back(form[place].opts);
      }
    }
    return lists;
  }

 private:
  static constexpr std::size_t kOfAForm = 16;  // candidates: a round of the search takes 48 in all

  static bool is_same(const std::vector<Opt>& a, const std::vector<Opt>& b) { return to_string(a) == to_string(b); }
};

}  // namespace

const Scheduler& invocation_scheduler() {
  static const InvocationScheduler scheduler;
  return scheduler;
}

}  // namespace hearth::schedule
