// memory_plan: lifetimes of intermediates -> offsets in the arena (and in the shared persistent block).
// Offline, deterministic: greedy by size (Pisarchyk & Lee, "Efficient Memory Management for Deep Neural Net Inference",
// 2020), sizes at the variables' upper bounds, offsets multiples of 64 bytes.
#pragma once
#include <cstdint>
#include <vector>

#include "compiler/passes/split_kernels.h"

namespace hearth::passes {

struct MemoryPlan {
  std::uint64_t arena_bytes = 0;
  std::uint64_t persistent_bytes = 0;
  std::uint64_t lower_bound_bytes = 0;  // greatest sum of live intermediates at any launch
};

// Sets the offsets of `schedule`'s Arena and Persistent buffers.
MemoryPlan memory_plan(Schedule& schedule);

}  // namespace hearth::passes
