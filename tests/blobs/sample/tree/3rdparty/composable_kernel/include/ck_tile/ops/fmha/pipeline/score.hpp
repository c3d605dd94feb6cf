// From a dot product to a score: scale, soft cap, bias, mask.
#pragma once
#include "ck_tile/ops/fmha.hpp"

namespace ck_tile {

template <typename Problem_>
struct attention_score {
  using BiasDataType = typename Problem_::Types::BiasDataType;
  static constexpr auto BiasEnum = Problem_::Traits::BiasEnum;

  float scale;
  float soft_cap;
  const BiasDataType* bias;  // of this head: row, column
  index_t stride_bias;
  float slope;  // of ALiBi
  mask_window window;
  index_t first_row;  // of the block
  index_t distance;   // seqlen_k - seqlen_q: ALiBi counts from the bottom right

  CK_TILE_DEVICE float operator()(index_t row, index_t column, float dot) const {
    const index_t i = first_row + row;
    if (Problem_::Mask::hides(window, i, column)) return negative_infinity();
    float score = Problem_::Variant::apply(dot * scale, soft_cap);
    if constexpr (BiasEnum == BlockAttentionBiasEnum::ELEMENTWISE_BIAS) {
      score += to_float(bias[static_cast<long_index_t>(i) * stride_bias + column]);
    } else if constexpr (BiasEnum == BlockAttentionBiasEnum::ALIBI) {
      const index_t away = i + distance - column;
      score -= slope * static_cast<float>(away < 0 ? -away : away);
    }
    return score;
  }
};

}  // namespace ck_tile
