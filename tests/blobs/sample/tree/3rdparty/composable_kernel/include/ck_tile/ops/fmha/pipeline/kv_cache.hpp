// Where a key's row is in a cache: one piece a batch entry, or pages listed in a table.
#pragma once
#include "ck_tile/core.hpp"

namespace ck_tile {

template <typename T, bool kIsPaged>
struct cache_rows {
  T* base;                    // of this head: of the whole cache when paged, else of the batch entry
  const std::int32_t* pages;  // of this batch entry
  index_t page_rows;
  long_index_t page_stride;
  long_index_t stride;  // 1 when rows lie side by side (values by column)

  CK_TILE_DEVICE T* operator()(index_t row) const {
    if constexpr (kIsPaged) {
      return base + pages[row / page_rows] * page_stride + (row % page_rows) * stride;
    } else {
      return base + row * stride;
    }
  }
};

}  // namespace ck_tile
