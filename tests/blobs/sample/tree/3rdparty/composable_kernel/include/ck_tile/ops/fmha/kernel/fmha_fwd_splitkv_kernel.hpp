// Attention of a part of the keys: grid = (tiles of rows times splits, heads, batch). Every split writes a float result
// and its log-sum-exp, minus infinity when it saw nothing.
#pragma once
#include "ck_tile/ops/fmha/kernel/fmha_fwd_kernel.hpp"
#include "ck_tile/ops/fmha/pipeline/kv_cache.hpp"

namespace ck_tile {

template <bool kPadSeqLenQ_, bool kPadSeqLenK_, bool kPadHeadDimQ_, bool kPadHeadDimV_, bool kHasLogitsSoftCap_,
          BlockAttentionBiasEnum BiasEnum_, bool kHasBiasGrad_, bool kStoreLSE_, bool kDoFp8StaticQuant_,
          bool kIsPagedKV_, bool kHasUnevenSplits_, index_t kBlockPerCu_ = -1>
struct TileFmhaFwdSplitKVTraits {
  static constexpr auto BiasEnum = BiasEnum_;
  static constexpr bool kIsPagedKV = kIsPagedKV_;
  static constexpr bool kHasUnevenSplits = kHasUnevenSplits_;
  static constexpr index_t kBlockPerCu = kBlockPerCu_ < 0 ? 2 : kBlockPerCu_;
};

struct fmha_fwd_splitkv_kargs {
  fmha_fwd_kargs base;
  const std::int32_t *block_table, *cache_batch_idx;
  index_t pages_of_batch, page_rows, num_splits, split_lse, split_o;
};

template <typename FmhaPipeline_, typename EpiloguePipeline_>
struct FmhaFwdSplitKVKernel {
  using Pipeline = FmhaPipeline_;
  using Epilogue = EpiloguePipeline_;
  using Problem = typename Pipeline::Problem;
  using Types = typename Problem::Types;
  using Kargs = fmha_fwd_splitkv_kargs;
  static constexpr index_t kBlockPerCu = Problem::Traits::kBlockPerCu;
  static constexpr bool kIsGroupMode = Problem::kIsGroupMode;
  static constexpr bool kIsPagedKV = Problem::Traits::kIsPagedKV;

  static std::string GetName() {
    return "fmha_fwd_splitkv_d" + std::to_string(Pipeline::kD) + (kIsGroupMode ? "_group_" : "_batch_") +
           Pipeline::name;
  }
  static constexpr dim3 BlockSize() { return dim3(Pipeline::kBlockSize); }
  static dim3 GridSize(index_t batch, index_t nhead, index_t max_seqlen_q, index_t num_splits) {
    return dim3(integer_divide_ceil(max_seqlen_q, Pipeline::kM0) * num_splits, nhead, batch);
  }

  CK_TILE_DEVICE void operator()(const block_context& block, const Kargs& kargs) const {
    const fmha_fwd_kargs& a = kargs.base;
    const long_index_t batch = block.z;
    const long_index_t head = block.y;
    const long_index_t key_head = head / a.heads_per_key;
    const index_t split = static_cast<index_t>(block.x) % kargs.num_splits;
    const index_t first = static_cast<index_t>(block.x) / kargs.num_splits * Pipeline::kM0;
    const long_index_t key_batch = kargs.cache_batch_idx != nullptr ? kargs.cache_batch_idx[batch] : batch;

    index_t seqlen_q = a.seqlen_q;
    index_t seqlen_k = a.seqlen_k_of != nullptr ? a.seqlen_k_of[batch] : a.seqlen_k;
    long_index_t q_at = batch * a.batch_q, bias_at = batch * a.batch_bias;
    long_index_t k_at = kIsPagedKV ? 0 : key_batch * a.batch_k, v_at = kIsPagedKV ? 0 : key_batch * a.batch_v;
    long_index_t lse_at = batch * a.batch_lse, o_at = batch * a.batch_o;
    if constexpr (kIsGroupMode) {
      const long_index_t q0 = a.seqstart_q[batch];
      seqlen_q = a.seqstart_q[batch + 1] - static_cast<index_t>(q0);
      if (a.seqlen_k_of == nullptr) seqlen_k = a.seqstart_k[batch + 1] - a.seqstart_k[batch];
      q_at = q0 * a.stride_q;
      bias_at = q0 * a.stride_bias;
      if constexpr (!kIsPagedKV) {
        k_at = static_cast<long_index_t>(a.seqstart_k[batch]) * a.stride_k;
        v_at = static_cast<long_index_t>(a.seqstart_k[batch]) * a.stride_v;
      }
      lse_at = q0;
      o_at = q0 * a.stride_o;
    }
    if (first >= seqlen_q) return;

    const index_t share = integer_divide_ceil(integer_divide_ceil(seqlen_k, kargs.num_splits), Pipeline::kN0);
    const index_t split_begin = split * share * Pipeline::kN0;
    const index_t split_end = min(seqlen_k, split_begin + share * Pipeline::kN0);
    const index_t rows = min(seqlen_q - first, Pipeline::kM0);
    const mask_window window = mask_window::make(a.window_left, a.window_right, a.mask_type, seqlen_q, seqlen_k);
    attention_score<Problem> score{a.scale, a.soft_cap, nullptr, a.stride_bias,
                                   0.f,     window,     first,   seqlen_k - seqlen_q};
    if constexpr (Problem::Traits::BiasEnum == BlockAttentionBiasEnum::ELEMENTWISE_BIAS) {
      score.bias = static_cast<const typename Types::BiasDataType*>(a.bias) + bias_at + head * a.head_bias;
    } else if constexpr (Problem::Traits::BiasEnum == BlockAttentionBiasEnum::ALIBI) {
      score.slope = static_cast<const float*>(a.bias)[batch * a.stride_bias + head];
    }

    const auto* q = static_cast<const typename Types::QDataType*>(a.q) + q_at + head * a.head_q;
    const auto* k = static_cast<const typename Types::KDataType*>(a.k) + k_at + key_head * a.head_k;
    const auto* v = static_cast<const typename Types::VDataType*>(a.v) + v_at + key_head * a.head_v;
    const std::int32_t* pages = kIsPagedKV ? kargs.block_table + batch * kargs.pages_of_batch : nullptr;
    constexpr bool kRowMajor = Problem::Shape::IsVLayoutRowMajor;
    const cache_rows<const typename Types::KDataType, kIsPagedKV> k_row{k, pages, kargs.page_rows, a.batch_k,
                                                                        a.stride_k};
    const cache_rows<const typename Types::VDataType, kIsPagedKV> v_row{v, pages, kargs.page_rows, a.batch_v,
                                                                        kRowMajor ? a.stride_v : 1};
    typename Pipeline::state out;
    Pipeline::run(
        block, rows, a.hdim_q, a.hdim_v,
        max(split_begin, Problem::Mask::begin(window, first) / Pipeline::kN0 * Pipeline::kN0),
        min(split_end, Problem::Mask::end(window, first, rows)), kRowMajor ? 1 : a.stride_v,
        [=](index_t i) { return q + static_cast<long_index_t>(first + i) * a.stride_q; }, k_row, v_row, score, out);

    float* o = static_cast<float*>(a.o) + o_at + head * a.head_o + static_cast<long_index_t>(split) * kargs.split_o;
    float* lse =
        static_cast<float*>(a.lse) + lse_at + head * a.head_lse + static_cast<long_index_t>(split) * kargs.split_lse;
    for (index_t r = 0; r < Pipeline::kRows && Pipeline::row_of(block, r) < rows; ++r) {
      const long_index_t row = first + Pipeline::row_of(block, r);
      const float sum = out.sum[r];
      for (index_t c = 0; c < Pipeline::kDv; ++c) out.o[r][c] = sum > 0.f ? out.o[r][c] / sum : 0.f;
      Epilogue::store(o + row * a.stride_o, out.o[r], a.hdim_v);
      lse[row] = out.max[r] + logf(sum);
    }
  }
};

}  // namespace ck_tile
