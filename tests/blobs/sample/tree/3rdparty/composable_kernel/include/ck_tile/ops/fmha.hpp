// Shapes, traits and problems that the fused-attention kernels are specialised by.
#pragma once
#include "ck_tile/core.hpp"
#include "ck_tile/ops/fmha/block/block_attention_bias_enum.hpp"
#include "ck_tile/ops/fmha/block/block_masking.hpp"

namespace ck_tile {

enum class BlockFmhaPipelineEnum { QRKSVS = 0, QRKSVS_ASYNC = 1, QSKSVS = 2 };
enum class BlockFmhaBwdPipelineEnum { KRKTRVR_IGLP = 0, KRKTRVR = 1, TRLOAD_KRKTRVR = 2 };

// Tile: kM0, kN0, kK0, kN1, kK1, kK0BlockLength (the whole head dimension of q and k).
template <typename BlockTile_, typename Gemm0BlockWarps_, typename Gemm0WarpTile_, typename Gemm1BlockWarps_,
          typename Gemm1WarpTile_, bool IsVLayoutRowMajor_>
struct TileFmhaShape {
  static constexpr index_t kM0 = BlockTile_::at(0);
  static constexpr index_t kN0 = BlockTile_::at(1);
  static constexpr index_t kN1 = BlockTile_::at(3);
  static constexpr index_t kQKHeaddim = BlockTile_::at(5);
  static constexpr index_t kBlockSize = Gemm0BlockWarps_::product() * 64;
  static constexpr bool IsVLayoutRowMajor = IsVLayoutRowMajor_;
};

template <bool kPadSeqLenQ_, bool kPadSeqLenK_, bool kPadHeadDimQ_, bool kPadHeadDimV_, bool kHasLogitsSoftCap_,
          BlockAttentionBiasEnum BiasEnum_, bool kHasBiasGrad_, bool kStoreLSE_, bool kHasDropout_,
          bool kDoFp8StaticQuant_, index_t kBlockPerCu_ = -1, bool kSkipMinSeqlenQ_ = false>
struct TileFmhaTraits {
  static constexpr bool kHasLogitsSoftCap = kHasLogitsSoftCap_;
  static constexpr auto BiasEnum = BiasEnum_;
  static constexpr bool kStoreLSE = kStoreLSE_;
  static constexpr bool kSkipMinSeqlenQ = kSkipMinSeqlenQ_;
  static constexpr index_t kBlockPerCu = kBlockPerCu_ < 0 ? 2 : kBlockPerCu_;
  static_assert(!kHasDropout_ && !kDoFp8StaticQuant_, "this small ck_tile has neither dropout nor static quantisation");
};

template <typename TypeConfig_, typename Shape_, bool kIsGroupMode_, typename Variant_, typename Mask_,
          typename Traits_>
struct BlockFmhaPipelineProblem {
  using Types = TypeConfig_;
  using Shape = Shape_;
  using Variant = Variant_;
  using Mask = Mask_;
  using Traits = Traits_;
  static constexpr bool kIsGroupMode = kIsGroupMode_;
};

}  // namespace ck_tile
