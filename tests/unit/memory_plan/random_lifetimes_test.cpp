// Random lifetimes: what is live together never shares a byte, the arena holds everything and is no smaller than what
// must be live at once, planning is a function of the schedule, and no thread of a parallel region writes what another
// one has yet to read.
#include <catch2/catch.hpp>
#include <iostream>
#include <random>

#include "compiler/passes/plan/memory_plan.h"
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

namespace {

// What each unit of each launch touches, by byte of the arena.
struct UnitAccess {
  std::uint32_t buffer = 0;
  std::uint64_t begin = 0, end = 0;
};

constexpr std::uint64_t kUnits = 4;

// Regions of a random schedule, and each buffer divided among their units or not.
void add_regions(Schedule& schedule, std::mt19937& random) {
  std::vector<std::uint64_t> unit_bytes;
  for (PlannedBuffer& buffer : schedule.buffers) {
    buffer.dtype = ir::DType(ir::Scalar::U8);
    buffer.max_bytes = std::uint64_t{64} << random() % 6;
    unit_bytes.push_back(random() % 4 == 0 ? 0 : buffer.max_bytes / kUnits);
  }
  for (std::uint32_t l = 0; l < schedule.launches.size(); ++l) {
    schedule.launches[l].kernel = l;
    passes::PlannedKernel& kernel = schedule.kernels.emplace_back();
    for (const std::uint32_t buffer : schedule.launches[l].buffers) {
      passes::SlotAccess& access = kernel.accesses.emplace_back();
      if (unit_bytes[buffer] > 0) access.unit_elements = static_cast<std::int64_t>(unit_bytes[buffer]);
    }
  }
  for (std::uint32_t l = 0; l + 2 < schedule.launches.size();) {
    const auto most = static_cast<std::uint32_t>(schedule.launches.size()) - l;
    const std::uint32_t length = std::min(most, 2 + static_cast<std::uint32_t>(random() % 12));
    if (random() % 3 > 0) schedule.regions.push_back({l, length, 0});
    l += length;
  }
}

std::vector<UnitAccess> accesses_of(const Schedule& schedule, std::size_t launch, std::uint64_t unit) {
  std::vector<UnitAccess> all;
  const auto& buffers = schedule.launches[launch].buffers;
  for (std::size_t slot = 0; slot < buffers.size(); ++slot) {
    const PlannedBuffer& buffer = schedule.buffers[buffers[slot]];
    if (buffer.kind != ir::BufferKind::Arena) continue;
    const auto part = schedule.kernels[schedule.launches[launch].kernel].accesses[slot].unit_elements;
    const std::uint64_t begin = buffer.offset + (part ? unit * static_cast<std::uint64_t>(*part) : 0);
    const std::uint64_t bytes = part ? static_cast<std::uint64_t>(*part) : buffer.max_bytes;
    all.push_back({buffers[slot], begin, begin + bytes});
  }
  return all;
}

// Two launches of a region that two units may run at the same time and that touch one byte of different buffers.
std::string shared_byte(const Schedule& schedule) {
  for (const passes::PlannedRegion& region : schedule.regions) {
    const std::size_t end = region.first_launch + region.num_launches;
    for (std::size_t a = region.first_launch; a < end; ++a) {
      for (std::size_t b = region.first_launch; b < end; ++b) {
        for (const UnitAccess& x : accesses_of(schedule, a, 0)) {
          for (std::uint64_t unit = 1; unit < kUnits; ++unit) {
            for (const UnitAccess& y : accesses_of(schedule, b, unit)) {
              if (x.buffer != y.buffer && std::max(x.begin, y.begin) < std::min(x.end, y.end))
                return "launches " + std::to_string(a) + " and " + std::to_string(b);
            }
          }
        }
      }
    }
  }
  return "";
}

}  // namespace

TEST_CASE("units of a parallel region never share a byte of different buffers, whichever launches they are at") {
  std::mt19937 random(2);
  int together = 0;
  for (int round = 0; round < 300; ++round) {
    Schedule schedule = random_schedule(random);
    add_regions(schedule, random);
    const MemoryPlan plan = passes::memory_plan(schedule);
    INFO("round " << round << ": " << schedule.regions.size() << " regions");
    REQUIRE(first_overlap(buffers_of(schedule, ir::BufferKind::Arena)) == "");
    REQUIRE(end_of(buffers_of(schedule, ir::BufferKind::Arena)) == plan.arena_bytes);
    REQUIRE(shared_byte(schedule) == "");
    Schedule apart = schedule;
    apart.regions.clear();
    together += passes::memory_plan(apart).arena_bytes < plan.arena_bytes;
  }
  CHECK(together > 30);  // there is something to get wrong
}

TEST_CASE("values of a region that are divided alike and used one after the other share memory") {
  Schedule schedule;
  constexpr std::uint32_t kLength = 50;
  schedule.launches.resize(kLength);
  schedule.kernels.resize(1);
  schedule.kernels[0].accesses = {{true, 256}, {false, 256}};
  for (std::uint32_t l = 0; l < kLength; ++l) {
    PlannedBuffer buffer;
    buffer.dtype = ir::DType(ir::Scalar::U8);
    buffer.max_bytes = 256 * kUnits;
    schedule.buffers.push_back(buffer);
    schedule.launches[l].buffers = {l, l == 0 ? l : l - 1};
  }
  schedule.regions.push_back({0, kLength, 0});
  CHECK(passes::memory_plan(schedule).arena_bytes == 2 * 256 * kUnits);
  schedule.kernels[0].accesses[1].unit_elements.reset();  // read anywhere: each is live to the end
  CHECK(passes::memory_plan(schedule).arena_bytes == kLength * 256 * kUnits);
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
