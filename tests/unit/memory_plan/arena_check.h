// An arena as a set of placed buffers, judged without the planner: what must be live at once and what overlaps. Plain
// and quadratic on purpose. No state.
//
//   std::vector<ArenaBuffer> buffers = ...;
//   CHECK(first_overlap(buffers) == "");
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hearth {

struct ArenaBuffer {
  std::uint64_t offset = 0, bytes = 0;
  std::size_t first = SIZE_MAX, last = 0;  // launches that touch it; none when first > last
  void touch(std::size_t launch);
};

// Greatest sum of the bytes of buffers that are live at one launch: no arena can be smaller.
std::uint64_t lower_bound_bytes(const std::vector<ArenaBuffer>& buffers, std::size_t num_launches);
// Two buffers that are live at one launch and share a byte, in words; "" when there are none.
std::string first_overlap(const std::vector<ArenaBuffer>& buffers);
// The first byte behind all buffers.
std::uint64_t end_of(const std::vector<ArenaBuffer>& buffers);

}  // namespace hearth
