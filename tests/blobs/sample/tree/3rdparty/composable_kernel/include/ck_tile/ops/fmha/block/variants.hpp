// What is done to a scaled score before the softmax.
#pragma once
#include "ck_tile/core.hpp"

#ifndef CK_TILE_FMHA_FWD_FAST_EXP2
#define CK_TILE_FMHA_FWD_FAST_EXP2 0
#endif

namespace ck_tile {

inline constexpr unsigned LOGITS_SOFT_CAP = 1;

template <unsigned kVariant, bool kFastExp2>
struct ComposedAttention {
  CK_TILE_DEVICE static float apply(float score, float soft_cap) {
    if constexpr ((kVariant & LOGITS_SOFT_CAP) != 0) return soft_cap * tanhf(score / soft_cap);
    return score;
  }
};

}  // namespace ck_tile
