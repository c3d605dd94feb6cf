// The pipeline of split attention: that of qr_ks_vs, since a split is attention over fewer keys.
#pragma once
#include "ck_tile/ops/fmha/pipeline/block_attention.hpp"

namespace ck_tile {

template <typename Problem_>
struct BlockFmhaFwdSplitKVPipelineQRKSVS : block_attention<Problem_, 1> {
  static constexpr const char* name = "qr";
};

// Rows of a block that the combining kernel handles, by the columns of its tile.
template <typename OaccDataType_, index_t kN1_>
struct BlockFmhaSplitKVCombinePipelineTileSizes {
  static constexpr index_t kM0 = 1024 / (kN1_ * static_cast<index_t>(sizeof(OaccDataType_)));
};

}  // namespace ck_tile
