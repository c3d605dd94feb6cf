#include "compiler/passes/plan/launch_levels.h"

#include <algorithm>
#include <unordered_map>

namespace hearth::passes {
namespace {

// Launches that stay together.
struct Group {
  std::size_t first = 0, end = 0;
  std::uint32_t level = 0;
};

class Levels {
 public:
  explicit Levels(const Schedule& schedule) : schedule_(schedule) {}

  std::vector<Group> run() {
    std::vector<Group> groups;
    for (std::size_t l = 0; l < schedule_.launches.size(); ++l) {
      const std::optional<std::uint32_t> loop = schedule_.launches[l].loop;
      if (!groups.empty() && loop && schedule_.launches[l - 1].loop == loop) {
        groups.back().end = l + 1;
      } else {
        groups.push_back({l, l + 1});
      }
    }
    for (Group& group : groups) {
      for_each_access(group, [&](std::uint32_t memory, bool stores) {
        const Use& before = uses_[memory];
        group.level = std::max(group.level, stores ? std::max(before.stored, before.read) : before.stored);
      });
      for_each_access(group, [&](std::uint32_t memory, bool stores) {
        std::uint32_t& behind = stores ? uses_[memory].stored : uses_[memory].read;
        behind = std::max(behind, group.level + 1);
      });
    }
    return groups;
  }

 private:
  // The least levels behind the launches that use a memory.
  struct Use {
    std::uint32_t stored = 0, read = 0;
  };

  template <class Visit>
  void for_each_access(const Group& group, Visit visit) const {
    for (std::size_t l = group.first; l < group.end; ++l) {
      const PlannedLaunch& launch = schedule_.launches[l];
      const std::vector<SlotAccess>& accesses = schedule_.kernels[launch.kernel].accesses;
      for (std::size_t slot = 0; slot < launch.buffers.size(); ++slot) {
        const bool stores = slot >= accesses.size() || accesses[slot].stored;
        const std::optional<PlannedView>& view = schedule_.buffers[launch.buffers[slot]].view;
        visit(view ? view->buffer : launch.buffers[slot], stores);
        if (view && view->kind == v1::LoopView::CARRIED) visit(view->other, true);
      }
    }
  }

  const Schedule& schedule_;
  std::unordered_map<std::uint32_t, Use> uses_;  // by buffer
};

}  // namespace

void order_by_levels(Schedule& schedule) {
  std::vector<Group> groups = Levels(schedule).run();
  std::ranges::stable_sort(groups, {}, &Group::level);
  std::vector<PlannedLaunch> launches;
  schedule.levels.clear();
  for (const Group& group : groups) {
    for (std::size_t l = group.first; l < group.end; ++l) launches.push_back(std::move(schedule.launches[l]));
    schedule.levels.resize(launches.size(), group.level);
  }
  schedule.launches = std::move(launches);
}

}  // namespace hearth::passes
