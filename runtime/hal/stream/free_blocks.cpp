#include "runtime/hal/stream/free_blocks.h"

#include <algorithm>

namespace hearth::runtime {

std::size_t FreeBlocks::rounded(std::size_t size_bytes) {
  constexpr std::size_t kSmall = 512, kLarge = std::size_t{2} << 20;  // below a page of device memory, and that
  const std::size_t unit = size_bytes >= kLarge ? kLarge : kSmall;
  return (std::max<std::size_t>(size_bytes, 1) + unit - 1) / unit * unit;
}

void* FreeBlocks::take(std::size_t size_bytes) {
  const auto found = std::ranges::find(blocks_, size_bytes, &Block::size_bytes);
  if (found == blocks_.end()) return nullptr;
  void* const address = found->address;
  bytes_ -= found->size_bytes;
  blocks_.erase(found);
  return address;
}

std::vector<void*> FreeBlocks::give(void* block, std::size_t size_bytes) {
  if (size_bytes > most_bytes_) return {block};
  blocks_.push_back({block, size_bytes});
  bytes_ += size_bytes;
  std::vector<void*> gone;
  while (bytes_ > most_bytes_) {
    gone.push_back(blocks_.front().address);
    bytes_ -= blocks_.front().size_bytes;
    blocks_.pop_front();
  }
  return gone;
}

std::vector<void*> FreeBlocks::take_all() {
  std::vector<void*> all;
  for (const Block& block : blocks_) all.push_back(block.address);
  blocks_.clear();
  bytes_ = 0;
  return all;
}

}  // namespace hearth::runtime
