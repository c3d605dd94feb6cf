// Merges the splits of fmha_fwd_splitkv_kernel.hpp, each weighted by its share of the softmax's sum: grid = (tiles of
// rows, heads, batch).
#pragma once
#include "ck_tile/ops/epilogue.hpp"
#include "ck_tile/ops/fmha.hpp"

namespace ck_tile {

template <bool kPadSeqLenQ_, bool kPadHeadDimV_, bool kStoreLSE_, bool kDoFp8StaticQuant_, index_t kLogMaxSplits_,
          index_t kBlockPerCu_ = -1>
struct TileFmhaFwdSplitKVCombineTraits {
  static constexpr bool kStoreLSE = kStoreLSE_;
  static constexpr index_t kMaxSplits = 1 << kLogMaxSplits_;
  static constexpr index_t kBlockPerCu = kBlockPerCu_ < 0 ? 2 : kBlockPerCu_;
};

template <typename TypeConfig_, index_t HeadDimV_, bool kIsGroupMode_, index_t kM0_, typename Traits_>
struct BlockFmhaSplitKVCombinePipelineProblem {
  using Types = TypeConfig_;
  using Traits = Traits_;
  static constexpr index_t kHeadDimV = HeadDimV_;
  static constexpr bool kIsGroupMode = kIsGroupMode_;
  static constexpr index_t kM0 = kM0_;
};

struct fmha_fwd_splitkv_combine_kargs {
  const float *lse_acc, *o_acc;
  float* lse;
  void* o;
  const std::int32_t* seqstart_q;
  index_t seqlen_q, hdim_v, num_splits, stride_o_acc, stride_o;
  index_t head_lse_acc, head_o_acc, head_lse, head_o;
  index_t batch_lse_acc, batch_o_acc, batch_lse, batch_o, split_lse, split_o;
};

template <typename Problem_, typename EpiloguePipeline_>
struct FmhaFwdSplitKVCombineKernel {
  using Problem = Problem_;
  using Traits = typename Problem::Traits;
  using Epilogue = EpiloguePipeline_;
  using Kargs = fmha_fwd_splitkv_combine_kargs;
  static constexpr index_t kBlockPerCu = Traits::kBlockPerCu;
  static constexpr index_t kBlockSize = 256;
  static constexpr index_t kThreads = threads_of_block<kBlockSize>;

  static std::string GetName() {
    return "fmha_fwd_splitkv_combine_d" + std::to_string(Problem::kHeadDimV) + "_s" +
           std::to_string(Traits::kMaxSplits);
  }
  static constexpr dim3 BlockSize() { return dim3(kBlockSize); }
  static dim3 GridSize(index_t batch, index_t nhead, index_t max_seqlen_q) {
    return dim3(integer_divide_ceil(max_seqlen_q, Problem::kM0), nhead, batch);
  }

  CK_TILE_DEVICE void operator()(const block_context& block, const Kargs& a) const {
    const long_index_t batch = block.z, head = block.y;
    long_index_t lse_acc_at = batch * a.batch_lse_acc, o_acc_at = batch * a.batch_o_acc;
    long_index_t lse_at = batch * a.batch_lse, o_at = batch * a.batch_o;
    index_t seqlen_q = a.seqlen_q;
    if constexpr (Problem::kIsGroupMode) {
      const long_index_t q0 = a.seqstart_q[batch];
      seqlen_q = a.seqstart_q[batch + 1] - static_cast<index_t>(q0);
      lse_acc_at = lse_at = q0;
      o_acc_at = q0 * a.stride_o_acc;
      o_at = q0 * a.stride_o;
    }
    const float* lse_acc = a.lse_acc + lse_acc_at + head * a.head_lse_acc;
    const float* o_acc = a.o_acc + o_acc_at + head * a.head_o_acc;
    auto* o = static_cast<typename Epilogue::ODataType*>(a.o) + o_at + head * a.head_o;
    const index_t first = static_cast<index_t>(block.x) * Problem::kM0;
    for (index_t i = block.thread; i < Problem::kM0 && first + i < seqlen_q; i += kThreads) {
      const long_index_t row = first + i;
      float top = negative_infinity();
      for (index_t s = 0; s < a.num_splits; ++s) {
        const float value = lse_acc[static_cast<long_index_t>(s) * a.split_lse + row];
        top = value > top ? value : top;
      }
      float result[Problem::kHeadDimV] = {};
      float sum = 0.f;
      for (index_t s = 0; s < a.num_splits && top != negative_infinity(); ++s) {
        const float weight = expf(lse_acc[static_cast<long_index_t>(s) * a.split_lse + row] - top);
        const float* part = o_acc + static_cast<long_index_t>(s) * a.split_o + row * a.stride_o_acc;
        for (index_t c = 0; c < a.hdim_v; ++c) result[c] += weight * part[c];
        sum += weight;
      }
      for (index_t c = 0; c < a.hdim_v; ++c) result[c] = sum > 0.f ? result[c] / sum : 0.f;
      Epilogue::store(o + row * a.stride_o, result, a.hdim_v);
      if constexpr (Traits::kStoreLSE) a.lse[lse_at + head * a.head_lse + row] = top + logf(sum);
    }
  }
};

}  // namespace ck_tile
