// memory_plan: lifetimes of intermediates -> offsets in the arena (and in the shared persistent block).
// Offline, deterministic: best fit in order of size, then, while the arena is above its lower bound, in order of
// breadth (both from Pisarchyk & Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020), then some
// more orders in which what ended highest goes first. Sizes are those at the variables' upper bounds, offsets multiples
// of 64 bytes. Time: n log n in buffers and launches, plus the pairs of buffers that are live together.
#pragma once
#include <cstdint>
#include <vector>

#include "compiler/passes/kernel/schedule.h"

namespace hearth::passes {

struct MemoryPlan {
  std::uint64_t arena_bytes = 0;
  std::uint64_t persistent_bytes = 0;
  std::uint64_t lower_bound_bytes = 0;  // greatest sum of live intermediates at any launch, each a multiple of 64
};

// Sets the offsets of `schedule`'s Arena and Persistent buffers.
MemoryPlan memory_plan(Schedule& schedule);

}  // namespace hearth::passes
