// Masks: which keys a query row may look at. Row i looks at column j when
//   i + shift - left <= j <= i + shift + right      (a negative left or right: no limit on that side)
// with shift 0 for mask_type 1 (from the top left) and seqlen_k - seqlen_q otherwise (from the bottom right).
#pragma once
#include "ck_tile/core.hpp"

namespace ck_tile {

struct mask_window {
  index_t left = -1;
  index_t right = -1;
  index_t shift = 0;
  index_t seqlen_k = 0;

  CK_TILE_HOST_DEVICE static mask_window make(index_t left, index_t right, index_t mask_type, index_t seqlen_q,
                                              index_t seqlen_k) {
    return {left, right, mask_type == 1 ? 0 : seqlen_k - seqlen_q, seqlen_k};
  }
};

template <bool IsMasking_ = true, bool IsLocal_ = false>
struct GenericAttentionMask {
  static constexpr bool IsMasking = IsMasking_;
  static constexpr bool IsLocal = IsLocal_;

  CK_TILE_HOST_DEVICE static bool hides(const mask_window& w, index_t row, index_t column) {
    if constexpr (!IsMasking) return false;
    if (w.right >= 0 && column > row + w.shift + w.right) return true;
    if constexpr (IsLocal) return w.left >= 0 && column < row + w.shift - w.left;
    return false;
  }
  // The columns that any of `rows` rows from `row` may see: [begin, end).
  CK_TILE_HOST_DEVICE static index_t begin(const mask_window& w, index_t row) {
    if constexpr (!IsLocal) return 0;
    return w.left < 0 ? 0 : min(max(row + w.shift - w.left, 0), w.seqlen_k);
  }
  CK_TILE_HOST_DEVICE static index_t end(const mask_window& w, index_t row, index_t rows) {
    if constexpr (!IsMasking) return w.seqlen_k;
    return w.right < 0 ? w.seqlen_k : min(max(row + rows + w.shift + w.right, 0), w.seqlen_k);
  }
};

// One masked form for causal and sliding windows.
template <bool IsMasking_ = true>
struct SimplifiedGenericAttentionMask : GenericAttentionMask<IsMasking_, IsMasking_> {};

}  // namespace ck_tile
