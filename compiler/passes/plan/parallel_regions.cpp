#include "compiler/passes/plan/parallel_regions.h"
#include "compiler/target/core_model.h"

#include <algorithm>
#include <unordered_map>

namespace hearth::passes {
namespace {

using target::kCore;

class Region {
 public:
  Region(const Schedule& schedule, std::size_t first) : schedule_(schedule), first_(first) {}

  // Makes the next launch a part; false if it must not be one.
  bool add(const PlannedLaunch& launch) {
    if (!may_begin(launch)) return false;
    const PlannedLaunch& first = schedule_.launches[first_];
    if (launch.grid != first.grid || launch.loop != first.loop) return false;
    const PlannedKernel& kernel = schedule_.kernels[launch.kernel];
    for (std::size_t slot = 0; slot < launch.buffers.size(); ++slot) {
      if (!agrees(launch.buffers[slot], kernel.accesses[slot])) return false;
    }
    for (std::size_t slot = 0; slot < launch.buffers.size(); ++slot) {
      const std::uint32_t buffer = launch.buffers[slot];
      const auto [found, is_first] = touched_.try_emplace(memory_of(buffer), Touched{buffer, kernel.accesses[slot]});
      if (!is_first) found->second = both(found->second, buffer, kernel.accesses[slot]);
    }
    work_ += kernel.work;
    ++num_launches_;
    return true;
  }

  bool may_begin(const PlannedLaunch& launch) const {
    const PlannedKernel& kernel = schedule_.kernels[launch.kernel];
    return !launch.once && launch.run_if.empty() && launch.grid->bounds.max > 1 &&
           kernel.work <= kCore.work_of_a_region && kernel.accesses.size() == launch.buffers.size();
  }
  bool is_worth_a_fork(double least_work) const { return num_launches_ > 1 && work_ >= least_work; }
  PlannedRegion planned() const {
    return {static_cast<std::uint32_t>(first_), static_cast<std::uint32_t>(num_launches_), work_};
  }

 private:
  struct Touched {
    std::uint32_t buffer = 0;
    SlotAccess access;  // of all launches; `unit_elements` only where they agree
  };

  static Touched both(const Touched& before, std::uint32_t buffer, const SlotAccess& access) {
    const bool alike = before.buffer == buffer && before.access.unit_elements == access.unit_elements;
    return {buffer, {before.access.stored || access.stored, alike ? access.unit_elements : std::nullopt}};
  }
  bool agrees(std::uint32_t buffer, const SlotAccess& access) const {
    const auto found = touched_.find(memory_of(buffer));
    if (found == touched_.end()) return true;
    const SlotAccess all = both(found->second, buffer, access).access;
    return !all.stored || all.unit_elements;
  }

  // What a step of a loop makes lies elsewhere than what it sees of the step before.
  std::uint32_t memory_of(std::uint32_t buffer) const {
    const std::optional<PlannedView>& view = schedule_.buffers[buffer].view;
    return view ? view->buffer : buffer;
  }

  const Schedule& schedule_;
  std::size_t first_;
  std::size_t num_launches_ = 0;
  double work_ = 0;
  std::unordered_map<std::uint32_t, Touched> touched_;  // by memory
};

}  // namespace

std::vector<PlannedRegion> parallel_regions(const Schedule& schedule, const target::Target& target) {
  std::vector<PlannedRegion> regions;
  if (target.threads() < 2) return regions;
  std::size_t next = 0;
  while (next < schedule.launches.size()) {
    Region region(schedule, next);
    std::size_t end = next;
    while (end < schedule.launches.size() && region.add(schedule.launches[end])) ++end;
    if (region.is_worth_a_fork(2 * target.fork_work())) regions.push_back(region.planned());
    next = std::max(end, next + 1);
  }
  return regions;
}

}  // namespace hearth::passes
