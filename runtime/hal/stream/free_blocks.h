// FreeBlocks: device memory that was given back and is kept for the next one of its size, since drivers wait for all of
// a device when memory is allocated or freed. At most so many bytes; the least recently used go first. Not thread-safe.
//
//   if (void* block = free_blocks.take(bytes)) return block;
//   for (void* block : free_blocks.give(block, bytes)) driver_free(block);
#pragma once
#include <cstddef>
#include <list>
#include <vector>

namespace hearth::runtime {

class FreeBlocks {
 public:
  explicit FreeBlocks(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  // As it is allocated: in whole units, so that those of nearly one size are one another's.
  static std::size_t rounded(std::size_t size_bytes);
  // One of exactly that rounded size; null: there is none.
  void* take(std::size_t size_bytes);
  // Keeps it; gives those that are to be freed for it, or itself.
  std::vector<void*> give(void* block, std::size_t size_bytes);
  // All that there are, which are to be freed.
  std::vector<void*> take_all();
  std::size_t bytes() const { return bytes_; }

 private:
  struct Block {
    void* address;
    std::size_t size_bytes;
  };
  const std::size_t most_bytes_;
  std::size_t bytes_ = 0;
  std::list<Block> blocks_;  // the least recently used first
};

}  // namespace hearth::runtime
