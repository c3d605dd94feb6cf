// lifetimes: from which launch to which each intermediate's memory must be its own.
//
// What a loop reads or makes is live in all of it; what a step alone uses is so again in every step. A thread may be at
// any launch of a parallel region while another one is still at its first, so what a region touches is live until its
// end. So may launches of one level (launch_levels.h). But where unit u of a region keeps to bytes u * n .. (u + 1) * n
// of two values that are used one after the other there, whoever overwrites the first one with the second has read it:
// such values share memory.
#pragma once
#include <cstdint>
#include <vector>

#include "compiler/passes/kernel/schedule.h"

namespace hearth::passes {

struct Lifetime {
  std::vector<std::uint32_t> buffers;      // of the schedule; several lie in the same bytes
  std::uint64_t bytes = 0;                 // a multiple of kArenaAlignment
  std::size_t first = SIZE_MAX, last = 0;  // launches that touch it
  std::uint64_t offset = 0;
  bool used() const { return first <= last; }
};

inline constexpr std::uint64_t kArenaAlignment = 64;

// The lifetime of every buffer that is no view.
std::vector<Lifetime> lifetimes_of(const Schedule& schedule);

}  // namespace hearth::passes
