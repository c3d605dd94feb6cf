// What the backward kernels are specialised by.
#pragma once
#include "ck_tile/core/tile.hpp"
#include "ck_tile/ops/fmha.hpp"

namespace ck_tile {

// Tile: kM0 rows and kN0 keys first, the head dimensions of q and v last.
template <typename BlockTile_, typename BlockWarps_, typename WarpTile_>
struct TileFmhaBwdShape {
  static constexpr index_t kM0 = BlockTile_::at(0);
  static constexpr index_t kN0 = BlockTile_::at(1);
  static constexpr index_t kQKHeaddim = BlockTile_::at(7);
  static constexpr index_t kVHeaddim = BlockTile_::at(8);
  static constexpr index_t kBlockSize = BlockWarps_::product() * 64;
};

template <BlockAttentionBiasEnum BiasEnum_, bool kHasBiasGrad_, index_t kBlockPerCu_>
struct TileFmhaBwdTraits {
  static constexpr auto BiasEnum = BiasEnum_;
  static constexpr bool kHasBiasGrad = kHasBiasGrad_;
  static constexpr index_t kBlockPerCu = kBlockPerCu_ < 0 ? 1 : kBlockPerCu_;
};

template <typename TypeConfig_, typename Shape_, bool kIsGroupMode_, bool kIsDeterministic_, typename Mask_,
          typename Dropout_, typename Traits_>
struct BlockFmhaBwdPipelineProblem {
  using Types = TypeConfig_;
  using Shape = Shape_;
  using Mask = Mask_;
  using Dropout = Dropout_;
  using Traits = Traits_;
  static constexpr bool kIsGroupMode = kIsGroupMode_;
  static constexpr bool kIsDeterministic = kIsDeterministic_;
};

// Keys and values stay in registers; dq is gathered in float and converted by a kernel of its own.
template <typename Problem_>
struct BlockFmhaBwdDQDKDVPipelineKRKTRVR {
  using Problem = Problem_;
  static constexpr bool kWritesDq = false;
  static constexpr const char* name = "kr_ktr_vr";
};
template <typename Problem_>
struct BlockFmhaBwdDQDKDVPipelineKRKTRVRIGLP : BlockFmhaBwdDQDKDVPipelineKRKTRVR<Problem_> {
  static constexpr const char* name = "kr_ktr_vr_iglp";
};
// One tile holds all keys, so that dq is complete at once.
template <typename Problem_>
struct BlockFmhaBwdDQDKDVPipelineTrLoadKRKTRVR : BlockFmhaBwdDQDKDVPipelineKRKTRVR<Problem_> {
  static constexpr bool kWritesDq = true;
  static constexpr const char* name = "trload_kr_ktr_vr";
};

}  // namespace ck_tile
