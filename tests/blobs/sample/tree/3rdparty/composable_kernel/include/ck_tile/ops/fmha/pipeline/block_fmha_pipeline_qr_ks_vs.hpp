// Queries in registers, keys and values through shared memory, one tile after the other.
#pragma once
#include "ck_tile/ops/fmha/pipeline/block_attention.hpp"

namespace ck_tile {

template <typename Problem_>
struct BlockFmhaPipelineQRKSVS : block_attention<Problem_, 1> {
  static constexpr const char* name = "qr";
};

}  // namespace ck_tile
