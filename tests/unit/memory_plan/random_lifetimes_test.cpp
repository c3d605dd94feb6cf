// Random lifetimes: what is live together never shares a byte, the arena holds everything and is no smaller than what
// must be live at once, and planning is a function of the schedule.
#include <catch2/catch.hpp>
#include <iostream>
#include <random>

#include "compiler/passes/memory_plan.h"
#include "tests/unit/memory_plan/arena_check.h"

namespace hearth {
namespace {

using passes::MemoryPlan;
using passes::PlannedBuffer;
using passes::Schedule;

constexpr std::uint64_t kAlignment = 64;

std::uint64_t aligned(std::uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Like a network: most buffers live for a few launches, some (skip connections) for long; a few sizes occur often.
Schedule random_schedule(std::mt19937& random) {
  auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  Schedule schedule;
  schedule.launches.resize(1 + below(60));
  const std::size_t num_buffers = below(90);
  const bool equal_sizes = below(4) == 0;
  for (std::uint32_t b = 0; b < num_buffers; ++b) {
    PlannedBuffer buffer;
    const std::size_t kind = below(10);
    buffer.kind = kind == 0   ? ir::BufferKind::Persistent
                  : kind == 1 ? ir::BufferKind::Parameter
                              : ir::BufferKind::Arena;
    buffer.max_bytes = equal_sizes ? 4096 : below(3) == 0 ? 1 + below(300) : std::uint64_t{64} << below(12);
    schedule.buffers.push_back(buffer);
    if (below(20) == 0) continue;  // touched by no launch
    const std::size_t length = below(8) == 0 ? schedule.launches.size() : 4;
    const std::size_t first = below(schedule.launches.size());
    const std::size_t last = std::min(first + below(length), schedule.launches.size() - 1);
    for (std::size_t l = first; l <= last; ++l) {
      if (l == first || l == last || below(3) == 0) schedule.launches[l].buffers.push_back(b);
    }
  }
  return schedule;
}

std::vector<ArenaBuffer> buffers_of(const Schedule& schedule, ir::BufferKind kind) {
  std::vector<ArenaBuffer> all(schedule.buffers.size());
  for (std::size_t l = 0; l < schedule.launches.size(); ++l) {
    for (std::uint32_t b : schedule.launches[l].buffers) all[b].touch(l);
  }
  std::vector<ArenaBuffer> chosen;
  for (std::size_t b = 0; b < all.size(); ++b) {
    all[b].offset = schedule.buffers[b].offset;
    all[b].bytes = aligned(schedule.buffers[b].max_bytes);
    if (schedule.buffers[b].kind == kind) chosen.push_back(all[b]);
  }
  return chosen;
}

}  // namespace

TEST_CASE("random lifetimes: no overlap, the true lower bound, the same places twice") {
  std::mt19937 random(1);
  int reused = 0, at_bound = 0;
  double worst = 1;
  constexpr int kRounds = 2000;
  for (int round = 0; round < kRounds; ++round) {
    Schedule schedule = random_schedule(random), again = schedule;
    const MemoryPlan plan = passes::memory_plan(schedule), second = passes::memory_plan(again);
    std::vector<ArenaBuffer> arena = buffers_of(schedule, ir::BufferKind::Arena);
    INFO("round " << round << ": " << arena.size() << " buffers, " << schedule.launches.size() << " launches");
    REQUIRE(first_overlap(arena) == "");
    for (const ArenaBuffer& b : arena) REQUIRE(b.offset % kAlignment == 0);
    REQUIRE(plan.arena_bytes == end_of(arena));
    REQUIRE(plan.lower_bound_bytes == lower_bound_bytes(arena, schedule.launches.size()));
    REQUIRE(plan.arena_bytes >= plan.lower_bound_bytes);

    // Shared between instances and never reused: as if live always.
    std::vector<ArenaBuffer> persistent = buffers_of(schedule, ir::BufferKind::Persistent);
    for (ArenaBuffer& b : persistent) b.first = 0, b.last = schedule.launches.size();
    REQUIRE(first_overlap(persistent) == "");
    REQUIRE(plan.persistent_bytes == end_of(persistent));

    REQUIRE(second.arena_bytes == plan.arena_bytes);
    for (std::size_t b = 0; b < schedule.buffers.size(); ++b)
      REQUIRE(again.buffers[b].offset == schedule.buffers[b].offset);

    std::uint64_t sum = 0, bound = plan.lower_bound_bytes;
    for (const ArenaBuffer& b : arena) {
      sum += b.bytes;
      bound = std::max(bound, b.bytes);  // what no launch touches needs a place too
    }
    reused += plan.arena_bytes < sum;
    at_bound += plan.arena_bytes == bound;
    if (bound > 0) worst = std::max(worst, static_cast<double>(plan.arena_bytes) / static_cast<double>(bound));
  }
  std::cout << "random lifetimes: " << kRounds << " schedules, " << reused
            << " arenas smaller than their buffers' sum, " << at_bound << " at the lower bound, largest ratio " << worst
            << "\n";
  CHECK(reused > kRounds / 2);
  CHECK(at_bound > kRounds * 95 / 100);
  CHECK(worst < 1.2);
}

TEST_CASE("a chain of equal buffers takes two of them, however long it is") {
  Schedule schedule;
  constexpr std::uint32_t kLength = 20000;
  schedule.launches.resize(kLength);
  for (std::uint32_t l = 0; l < kLength; ++l) {
    PlannedBuffer buffer;
    buffer.max_bytes = 1000;
    schedule.buffers.push_back(buffer);
    if (l > 0) schedule.launches[l].buffers = {l, l - 1};
  }
  const MemoryPlan plan = passes::memory_plan(schedule);
  CHECK(plan.lower_bound_bytes == 2 * 1024);
  CHECK(plan.arena_bytes == 2 * 1024);
}

}  // namespace hearth
