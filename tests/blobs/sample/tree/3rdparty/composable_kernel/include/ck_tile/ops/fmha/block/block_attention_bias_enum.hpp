// What is added to the scores.
#pragma once

namespace ck_tile {

enum class BlockAttentionBiasEnum { NO_BIAS = 0, ELEMENTWISE_BIAS = 1, ALIBI = 2 };

enum class BlockAttentionQuantScaleEnum { NO_SCALE = 0, PERTENSOR = 1 };

enum class RotaryEmbeddingEnum { NONE = 0, INTERLEAVED = 1, HALF_ROTATED = 2 };

}  // namespace ck_tile
