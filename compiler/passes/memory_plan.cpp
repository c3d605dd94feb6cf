#include "compiler/passes/memory_plan.h"

#include <algorithm>

namespace hearth::passes {
namespace {

constexpr std::uint64_t kAlignment = 64;
std::uint64_t aligned(std::uint64_t bytes) {
  return (std::max<std::uint64_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
}

struct Lifetime {
  std::uint32_t buffer = 0;
  std::uint64_t bytes = 0;
  std::size_t first = SIZE_MAX, last = 0;  // launches that touch it
  std::uint64_t offset = 0;
  bool overlaps(const Lifetime& other) const { return first <= other.last && other.first <= last; }
};

}  // namespace

MemoryPlan memory_plan(Schedule& schedule) {
  MemoryPlan plan;
  std::vector<Lifetime> lives(schedule.buffers.size());
  for (std::size_t l = 0; l < schedule.launches.size(); ++l) {
    for (std::uint32_t b : schedule.launches[l].buffers) {
      lives[b].first = std::min(lives[b].first, l);
      lives[b].last = std::max(lives[b].last, l);
    }
  }
  std::vector<Lifetime> arena;
  for (std::uint32_t b = 0; b < lives.size(); ++b) {
    PlannedBuffer& buffer = schedule.buffers[b];
    lives[b].buffer = b;
    lives[b].bytes = aligned(buffer.max_bytes);
    if (buffer.kind == ir::BufferKind::Persistent) {
      buffer.offset = plan.persistent_bytes;
      plan.persistent_bytes += lives[b].bytes;
    } else if (buffer.kind == ir::BufferKind::Arena) {
      arena.push_back(lives[b]);
    }
  }
  for (std::size_t l = 0; l < schedule.launches.size(); ++l) {
    std::uint64_t live = 0;
    for (const Lifetime& x : arena) live += x.first <= l && l <= x.last ? x.bytes : 0;
    plan.lower_bound_bytes = std::max(plan.lower_bound_bytes, live);
  }
  std::ranges::stable_sort(arena, [](const Lifetime& a, const Lifetime& b) { return a.bytes > b.bytes; });
  std::vector<Lifetime> placed;  // sorted by offset
  for (Lifetime& x : arena) {
    std::uint64_t best = UINT64_MAX, best_gap = UINT64_MAX, end = 0;
    for (const Lifetime& p : placed) {
      if (!p.overlaps(x)) continue;
      if (p.offset >= end + x.bytes && p.offset - end < best_gap) {
        best_gap = p.offset - end;
        best = end;
      }
      end = std::max(end, p.offset + p.bytes);
    }
    x.offset = best != UINT64_MAX ? best : end;
    plan.arena_bytes = std::max(plan.arena_bytes, x.offset + x.bytes);
    schedule.buffers[x.buffer].offset = x.offset;
    placed.insert(std::ranges::upper_bound(placed, x.offset, {}, &Lifetime::offset), x);
  }
  return plan;
}

}  // namespace hearth::passes
