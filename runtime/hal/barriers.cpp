#include "runtime/hal/barriers.h"

#include <algorithm>
#include <unordered_map>

#include "runtime/plan/plan_loops.h"

namespace hearth::runtime {
namespace {

// What is compared with each launch: a plan of very many launches without conflicts waits now and then for nothing.
constexpr std::size_t kMaxTracked = 4096;

// Bytes of the arena, of the persistent block, or of a buffer that lies alone.
struct Memory {
  std::uint64_t block = 0;
  std::size_t begin = 0, end = 0;
  bool overlaps(const Memory& other) const { return block == other.block && begin < other.end && other.begin < end; }
};

struct Access {
  Memory memory;
  bool is_stored = false;
};

Memory memory_of_buffer(const Plan& plan, std::uint32_t id) {
  constexpr std::uint64_t kArena = 0, kPersistent = 1, kFirst = 2;
  const PlanBuffer& buffer = plan.buffers[id];
  const bool is_in_arena = buffer.kind == v1::PlanBuffer::ARENA;
  if (is_in_arena || buffer.kind == v1::PlanBuffer::PERSISTENT)
    return {is_in_arena ? kArena : kPersistent, buffer.offset, buffer.offset + buffer.max_bytes};
  return {kFirst + id, 0, buffer.max_bytes};
}

std::vector<Access> accesses_of(const Plan& plan, const PlanLaunch& launch) {
  const std::vector<std::uint32_t>& stored = plan.kernels[launch.kernel].stored_slots;
  std::vector<Access> accesses;
  for (std::uint32_t slot = 0; slot < launch.buffers.size(); ++slot) {
    const bool is_stored = stored.empty() || std::ranges::find(stored, slot) != stored.end();
    for (const std::uint32_t buffer : memory_of(plan, launch.buffers[slot]))
      accesses.push_back({memory_of_buffer(plan, buffer), is_stored});
  }
  return accesses;
}

}  // namespace

std::vector<bool> barriers(const Plan& plan, std::span<const std::uint32_t> launches) {
  std::unordered_map<std::uint32_t, std::vector<Access>> known;  // by launch
  std::vector<bool> waits;
  std::vector<Access> open;  // of launches that may still run
  for (const std::uint32_t id : launches) {
    const auto [entry, is_new] = known.try_emplace(id);
    if (is_new) entry->second = accesses_of(plan, plan.launches[id]);
    const std::vector<Access>& accesses = entry->second;
    const auto conflicts = [&](const Access& access) {
      return std::ranges::any_of(open, [&](const Access& before) {
        return (access.is_stored || before.is_stored) && access.memory.overlaps(before.memory);
      });
    };
    waits.push_back(open.size() > kMaxTracked || std::ranges::any_of(accesses, conflicts));
    if (waits.back()) open.clear();
    open.insert(open.end(), accesses.begin(), accesses.end());
  }
  return waits;
}

}  // namespace hearth::runtime
