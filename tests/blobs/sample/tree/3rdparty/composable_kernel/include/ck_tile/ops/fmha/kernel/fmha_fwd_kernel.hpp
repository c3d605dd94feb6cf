// Forward attention: a block is kM0 rows of one head of one batch entry; grid = (tiles of rows, heads, batch).
#pragma once
#include "ck_tile/ops/fmha/pipeline/score.hpp"

namespace ck_tile {

struct fmha_fwd_kargs {
  const void *q, *k, *v, *bias;
  void *lse, *o;
  const std::int32_t *seqstart_q, *seqstart_k, *seqlen_k_of;
  index_t seqlen_q, seqlen_k, hdim_q, hdim_v, heads_per_key;
  float scale, soft_cap;
  index_t stride_q, stride_k, stride_v, stride_bias, stride_o;
  index_t head_q, head_k, head_v, head_bias, head_lse, head_o;
  index_t batch_q, batch_k, batch_v, batch_bias, batch_lse, batch_o;
  index_t window_left, window_right, mask_type, min_seqlen_q;
};

template <typename FmhaPipeline_, typename EpiloguePipeline_>
struct FmhaFwdKernel {
  using Pipeline = FmhaPipeline_;
  using Epilogue = EpiloguePipeline_;
  using Problem = typename Pipeline::Problem;
  using Types = typename Problem::Types;
  using Kargs = fmha_fwd_kargs;
  static constexpr index_t kBlockPerCu = Problem::Traits::kBlockPerCu;
  static constexpr bool kIsGroupMode = Problem::kIsGroupMode;

  static std::string GetName() {
    return "fmha_fwd_d" + std::to_string(Pipeline::kD) + (kIsGroupMode ? "_group_" : "_batch_") + Pipeline::name;
  }
  static constexpr dim3 BlockSize() { return dim3(Pipeline::kBlockSize); }
  static dim3 GridSize(index_t batch, index_t nhead, index_t max_seqlen_q) {
    return dim3(integer_divide_ceil(max_seqlen_q, Pipeline::kM0), nhead, batch);
  }

  CK_TILE_DEVICE void operator()(const block_context& block, const Kargs& a) const {
    const long_index_t batch = block.z;
    const long_index_t head = block.y;
    const long_index_t key_head = head / a.heads_per_key;
    const index_t first = static_cast<index_t>(block.x) * Pipeline::kM0;

    index_t seqlen_q = a.seqlen_q;
    index_t seqlen_k = a.seqlen_k;
    long_index_t q_at = batch * a.batch_q, k_at = batch * a.batch_k, v_at = batch * a.batch_v;
    long_index_t bias_at = batch * a.batch_bias, lse_at = batch * a.batch_lse, o_at = batch * a.batch_o;
    if constexpr (kIsGroupMode) {
      const long_index_t q0 = a.seqstart_q[batch];
      const long_index_t k0 = a.seqstart_k[batch];
      seqlen_q = a.seqstart_q[batch + 1] - static_cast<index_t>(q0);
      seqlen_k = a.seqlen_k_of != nullptr ? a.seqlen_k_of[batch] : a.seqstart_k[batch + 1] - static_cast<index_t>(k0);
      q_at = q0 * a.stride_q;
      k_at = k0 * a.stride_k;
      v_at = Problem::Shape::IsVLayoutRowMajor ? k0 * a.stride_v : k0;
      bias_at = q0 * a.stride_bias;
      lse_at = q0;
      o_at = q0 * a.stride_o;
    }
    if (first >= seqlen_q) return;
    if constexpr (Problem::Traits::kSkipMinSeqlenQ) {
      if (seqlen_q <= a.min_seqlen_q) return;
    }

    const auto* q = static_cast<const typename Types::QDataType*>(a.q) + q_at + head * a.head_q;
    const auto* k = static_cast<const typename Types::KDataType*>(a.k) + k_at + key_head * a.head_k;
    const auto* v = static_cast<const typename Types::VDataType*>(a.v) + v_at + key_head * a.head_v;
    auto* o = static_cast<typename Types::ODataType*>(a.o) + o_at + head * a.head_o;

    const mask_window window = mask_window::make(a.window_left, a.window_right, a.mask_type, seqlen_q, seqlen_k);
    attention_score<Problem> score{a.scale, a.soft_cap, nullptr, a.stride_bias,
                                   0.f,     window,     first,   seqlen_k - seqlen_q};
    if constexpr (Problem::Traits::BiasEnum == BlockAttentionBiasEnum::ELEMENTWISE_BIAS) {
      score.bias = static_cast<const typename Types::BiasDataType*>(a.bias) + bias_at + head * a.head_bias;
    } else if constexpr (Problem::Traits::BiasEnum == BlockAttentionBiasEnum::ALIBI) {
      score.slope = static_cast<const float*>(a.bias)[batch * a.stride_bias + head];
    }

    const index_t rows = min(seqlen_q - first, Pipeline::kM0);
    constexpr bool kRowMajor = Problem::Shape::IsVLayoutRowMajor;
    typename Pipeline::state out;
    Pipeline::run(
        block, rows, a.hdim_q, a.hdim_v, Problem::Mask::begin(window, first), Problem::Mask::end(window, first, rows),
        kRowMajor ? 1 : a.stride_v, [=](index_t i) { return q + static_cast<long_index_t>(first + i) * a.stride_q; },
        [=](index_t n) { return k + static_cast<long_index_t>(n) * a.stride_k; },
        [=](index_t n) { return v + (kRowMajor ? static_cast<long_index_t>(n) * a.stride_v : n); }, score, out);

    for (index_t r = 0; r < Pipeline::kRows && Pipeline::row_of(block, r) < rows; ++r) {
      const long_index_t row = first + Pipeline::row_of(block, r);
      const float sum = out.sum[r];
      for (index_t c = 0; c < Pipeline::kDv; ++c) out.o[r][c] = sum > 0.f ? out.o[r][c] / sum : 0.f;
      Epilogue::store(o + row * a.stride_o, out.o[r], a.hdim_v);
      if constexpr (Problem::Traits::kStoreLSE) {
        static_cast<float*>(a.lse)[lse_at + head * a.head_lse + row] = out.max[r] + logf(sum);
      }
    }
  }
};

}  // namespace ck_tile
