#include "tests/unit/memory_plan/arena_check.h"

#include <algorithm>

namespace hearth {

void ArenaBuffer::touch(std::size_t launch) {
  first = std::min(first, launch);
  last = std::max(last, launch);
}

std::uint64_t lower_bound_bytes(const std::vector<ArenaBuffer>& buffers, std::size_t num_launches) {
  std::uint64_t most = 0;
  for (std::size_t l = 0; l < num_launches; ++l) {
    std::uint64_t live = 0;
    for (const ArenaBuffer& b : buffers) live += b.first <= l && l <= b.last ? b.bytes : 0;
    most = std::max(most, live);
  }
  return most;
}

std::string first_overlap(const std::vector<ArenaBuffer>& buffers) {
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const ArenaBuffer &a = buffers[i], &b = buffers[j];
      const bool same_time = std::max(a.first, b.first) <= std::min(a.last, b.last);
      const bool same_place = std::max(a.offset, b.offset) < std::min(a.offset + a.bytes, b.offset + b.bytes);
      if (same_time && same_place) return "buffers " + std::to_string(j) + " and " + std::to_string(i);
    }
  }
  return "";
}

std::uint64_t end_of(const std::vector<ArenaBuffer>& buffers) {
  std::uint64_t end = 0;
  for (const ArenaBuffer& b : buffers) end = std::max(end, b.offset + b.bytes);
  return end;
}

}  // namespace hearth
