// As qr_ks_vs, but the next tile of keys is fetched while the present one is used.
#pragma once
#include "ck_tile/ops/fmha/pipeline/block_attention.hpp"

namespace ck_tile {

template <typename Problem_>
struct BlockFmhaPipelineQRKSVSAsync : block_attention<Problem_, 2> {
  static constexpr const char* name = "qr_async";
};

}  // namespace ck_tile
