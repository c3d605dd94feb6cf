// Memory that was given back is kept up to a number of bytes, the least recently used going first.
#include "runtime/hal/stream/free_blocks.h"

#include <catch2/catch.hpp>

namespace hearth::runtime {

TEST_CASE("free blocks: one of the same size comes again, the rest goes oldest first beyond the limit") {
  char memory[8];
  FreeBlocks blocks(1000);
  CHECK(blocks.take(400) == nullptr);
  CHECK(blocks.give(&memory[0], 400).empty());
  CHECK(blocks.give(&memory[1], 500).empty());
  CHECK(blocks.take(500) == &memory[1]);
  CHECK(blocks.take(500) == nullptr);
  CHECK(blocks.bytes() == 400);
  CHECK(blocks.give(&memory[1], 500).empty());
  CHECK(blocks.give(&memory[2], 450) == std::vector<void*>{&memory[0]});
  CHECK(blocks.bytes() == 950);
  CHECK(blocks.give(&memory[3], 1001) == std::vector<void*>{&memory[3]});
  CHECK(blocks.take_all() == std::vector<void*>{&memory[1], &memory[2]});
  CHECK(blocks.bytes() == 0);
}

TEST_CASE("free blocks: sizes are those of whole units, never less than was asked for") {
  for (const std::size_t size : {0UL, 1UL, 511UL, 512UL, 513UL, (2UL << 20) - 1, 2UL << 20, (2UL << 20) + 1}) {
    const std::size_t rounded = FreeBlocks::rounded(size);
    CHECK(rounded >= size);
    CHECK(rounded % 512 == 0);
    CHECK(rounded > 0);
    CHECK(rounded == FreeBlocks::rounded(rounded));
  }
}

}  // namespace hearth::runtime
