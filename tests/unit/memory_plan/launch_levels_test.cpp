// Launches by levels: every launch still comes behind those it has to wait for, none of a level waits for another, and
// what a level touches shares no memory.
#include "compiler/passes/plan/launch_levels.h"

#include <catch2/catch.hpp>
#include <iostream>
#include <random>

#include "compiler/passes/plan/memory_plan.h"
#include "tests/unit/memory_plan/arena_check.h"

namespace hearth {
namespace {

using passes::PlannedLaunch;
using passes::Schedule;

// Launches that store one buffer and read some before it; a few store to one again. Each has a kernel of its own, by
// which it is known when it has moved. Some neighbours are a loop.
Schedule random_launches(std::mt19937& random) {
  const auto below = [&](std::size_t n) { return static_cast<std::uint32_t>(random() % n); };
  Schedule schedule;
  const std::uint32_t num_launches = 2 + below(40);
  std::optional<std::uint32_t> loop;
  for (std::uint32_t l = 0; l < num_launches; ++l) {
    if (below(6) == 0)
      loop = loop || below(2) == 0 ? std::nullopt : std::optional(static_cast<std::uint32_t>(schedule.loops.size()));
    if (loop && *loop == schedule.loops.size()) schedule.loops.emplace_back();
    passes::PlannedBuffer buffer;
    buffer.max_bytes = std::uint64_t{64} << below(6);
    schedule.buffers.push_back(buffer);
    PlannedLaunch launch;
    launch.kernel = l;
    launch.loop = loop;
    launch.buffers.push_back(below(8) == 0 ? below(l + 1) : l);
    for (std::uint32_t i = below(3); i > 0 && l > 0; --i)
      launch.buffers.push_back(below(4) == 0 ? below(l) : l - 1 - below(std::min(l, 3U)));
    passes::PlannedKernel& kernel = schedule.kernels.emplace_back();
    for (std::size_t slot = 0; slot < launch.buffers.size(); ++slot)
      kernel.accesses.push_back({slot == 0, std::nullopt});
    schedule.launches.push_back(launch);
  }
  return schedule;
}

bool conflict(const PlannedLaunch& a, const PlannedLaunch& b) {
  const auto touches = [](const PlannedLaunch& launch, std::uint32_t buffer) {
    return std::ranges::find(launch.buffers, buffer) != launch.buffers.end();
  };
  return touches(b, a.buffers[0]) || touches(a, b.buffers[0]);
}

}  // namespace

TEST_CASE("random launches by levels: conflicts keep their order, a level has none, and its values share no memory") {
  std::mt19937 random(3);
  std::size_t launches = 0, levels = 0;
  for (int round = 0; round < 500; ++round) {
    const Schedule before = random_launches(random);
    Schedule schedule = before;
    passes::order_by_levels(schedule);
    const passes::MemoryPlan plan = passes::memory_plan(schedule);
    INFO("round " << round << ", " << before.launches.size() << " launches");
    REQUIRE(schedule.launches.size() == before.launches.size());
    REQUIRE(schedule.levels.size() == before.launches.size());
    REQUIRE(std::ranges::is_sorted(schedule.levels));
    std::vector<std::size_t> place(before.launches.size());
    for (std::size_t l = 0; l < place.size(); ++l) place[schedule.launches[l].kernel] = l;
    for (std::size_t a = 0; a < place.size(); ++a) {
      for (std::size_t b = a + 1; b < place.size(); ++b) {
        const bool is_one_loop = before.launches[a].loop && before.launches[a].loop == before.launches[b].loop;
        if (is_one_loop) REQUIRE(schedule.levels[place[a]] == schedule.levels[place[b]]);
        if (is_one_loop) REQUIRE(place[a] < place[b]);
        if (!conflict(before.launches[a], before.launches[b]) || is_one_loop) continue;
        REQUIRE(schedule.levels[place[a]] < schedule.levels[place[b]]);
      }
    }
    std::vector<ArenaBuffer> arena(schedule.buffers.size());
    for (std::size_t l = 0; l < place.size(); ++l) {
      for (const std::uint32_t b : schedule.launches[l].buffers) arena[b].touch(schedule.levels[l]);
    }
    for (std::size_t b = 0; b < arena.size(); ++b) {
      arena[b].offset = schedule.buffers[b].offset;
      arena[b].bytes = (schedule.buffers[b].max_bytes + 63) / 64 * 64;
    }
    REQUIRE(first_overlap(arena) == "");
    REQUIRE(end_of(arena) == plan.arena_bytes);
    launches += place.size();
    levels += schedule.levels.back() + 1;
  }
  std::cout << "launch levels: " << launches << " launches, " << levels << " levels\n";
  CHECK(levels < launches);
}

}  // namespace hearth
