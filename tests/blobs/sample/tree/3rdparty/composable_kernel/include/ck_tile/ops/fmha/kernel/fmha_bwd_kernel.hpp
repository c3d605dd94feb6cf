// Gradients of attention with respect to q, k and v, from the forward pass's log-sum-exp: a block has kN0 keys of one
// head and goes over all rows; grid = (tiles of keys, heads, batch). dk and dv have one head a query head.
#pragma once
#include "ck_tile/ops/epilogue.hpp"
#include "ck_tile/ops/fmha/pipeline/block_fmha_bwd_pipeline.hpp"

namespace ck_tile {

struct fmha_bwd_kargs {
  const void *q, *k, *v, *bias, *o_grad;
  const float *lse, *d;
  void *q_grad, *k_grad, *v_grad, *bias_grad;
  float* q_grad_acc;
  const std::int32_t *seqstart_q, *seqstart_k;
  index_t seqlen_q, seqlen_k, hdim_q, hdim_v, heads_per_key;
  float scale;
  index_t stride_q, stride_k, stride_v, stride_bias, stride_do, stride_dq_acc, stride_dq, stride_dk, stride_dv,
      stride_dbias;
  index_t head_q, head_k, head_v, head_bias, head_do, head_lsed, head_dq_acc, head_dq, head_dk, head_dv, head_dbias;
  index_t batch_q, batch_k, batch_v, batch_bias, batch_do, batch_lsed, batch_dq_acc, batch_dq, batch_dk, batch_dv,
      batch_dbias;
  index_t split_dq_acc, window_left, window_right, mask_type;
};

template <typename FmhaPipeline_, typename KGradEpilogue_, typename VGradEpilogue_>
struct FmhaBwdDQDKDVKernel {
  using Pipeline = FmhaPipeline_;
  using Problem = typename Pipeline::Problem;
  using Types = typename Problem::Types;
  using Shape = typename Problem::Shape;
  using Mask = typename Problem::Mask;
  using Kargs = fmha_bwd_kargs;
  using QDataType = typename Types::QDataType;
  using KDataType = typename Types::KDataType;
  using VDataType = typename Types::VDataType;
  static constexpr index_t kBlockPerCu = Problem::Traits::kBlockPerCu;
  static constexpr index_t kN0 = Shape::kN0;
  static constexpr index_t kD = Shape::kQKHeaddim;
  static constexpr index_t kDv = Shape::kVHeaddim;
  static constexpr index_t kThreads = threads_of_block<Shape::kBlockSize>;
  static constexpr index_t kKeys = (kN0 + kThreads - 1) / kThreads;  // of a thread

  static std::string GetName() {
    return "fmha_bwd_d" + std::to_string(kD) + (Problem::kIsGroupMode ? "_group_" : "_batch_") + Pipeline::name;
  }
  static constexpr dim3 BlockSize() { return dim3(Shape::kBlockSize); }
  static dim3 GridSize(index_t batch, index_t nhead, index_t max_seqlen_k) {
    return dim3(integer_divide_ceil(max_seqlen_k, kN0), nhead, batch);
  }

  CK_TILE_DEVICE void operator()(const block_context& block, const Kargs& a) const {
    const long_index_t batch = block.z, head = block.y, key_head = head / a.heads_per_key;
    long_index_t q_at = batch * a.batch_q, k_at = batch * a.batch_k, v_at = batch * a.batch_v;
    long_index_t bias_at = batch * a.batch_bias, do_at = batch * a.batch_do, lsed_at = batch * a.batch_lsed;
    long_index_t acc_at = batch * a.batch_dq_acc, dq_at = batch * a.batch_dq, dk_at = batch * a.batch_dk;
    long_index_t dv_at = batch * a.batch_dv, dbias_at = batch * a.batch_dbias;
    index_t seqlen_q = a.seqlen_q, seqlen_k = a.seqlen_k;
    if constexpr (Problem::kIsGroupMode) {
      const long_index_t q0 = a.seqstart_q[batch], k0 = a.seqstart_k[batch];
      seqlen_q = a.seqstart_q[batch + 1] - static_cast<index_t>(q0);
      seqlen_k = a.seqstart_k[batch + 1] - static_cast<index_t>(k0);
      q_at = q0 * a.stride_q, k_at = k0 * a.stride_k, v_at = k0 * a.stride_v, bias_at = q0 * a.stride_bias;
      do_at = q0 * a.stride_do, lsed_at = q0, acc_at = q0 * a.stride_dq_acc, dq_at = q0 * a.stride_dq;
      dk_at = k0 * a.stride_dk, dv_at = k0 * a.stride_dv, dbias_at = q0 * a.stride_dbias;
    }
    const index_t first = static_cast<index_t>(block.x) * kN0 + block.thread * kKeys;  // this thread's keys
    const index_t count = min(kKeys, seqlen_k - first);
    if (count <= 0) return;

    const auto* q = static_cast<const QDataType*>(a.q) + q_at + head * a.head_q;
    const auto* k = static_cast<const KDataType*>(a.k) + k_at + key_head * a.head_k;
    const auto* v = static_cast<const VDataType*>(a.v) + v_at + key_head * a.head_v;
    const auto* o_grad = static_cast<const typename Types::OGradDataType*>(a.o_grad) + do_at + head * a.head_do;
    const float* lse = a.lse + lsed_at + head * a.head_lsed;
    const float* d = a.d + lsed_at + head * a.head_lsed;
    const auto k_row = [=](index_t n) { return k + static_cast<long_index_t>(n) * a.stride_k; };
    const auto v_row = [=](index_t n) { return v + static_cast<long_index_t>(n) * a.stride_v; };
    key_tile<KDataType, kKeys, kD> keys;
    key_tile<VDataType, kKeys, kDv> values;
    value_tile<KDataType, kKeys, kD> key_rows;
    keys.load(k_row, first, count, a.hdim_q);
    values.load(v_row, first, count, a.hdim_v);
    key_rows.load(k_row, first, count, a.hdim_q, 1);

    const mask_window window = mask_window::make(a.window_left, a.window_right, a.mask_type, seqlen_q, seqlen_k);
    // The softmax's weight of row i for key n, from their dot product.
    const auto weight = [&](index_t i, index_t n, float dot) {
      if (Mask::hides(window, i, n)) return 0.f;
      float score = dot * a.scale;
      if constexpr (Problem::Traits::BiasEnum == BlockAttentionBiasEnum::ELEMENTWISE_BIAS) {
        const auto* bias = static_cast<const typename Types::BiasDataType*>(a.bias) + bias_at + head * a.head_bias;
        score += to_float(bias[static_cast<long_index_t>(i) * a.stride_bias + n]);
      } else if constexpr (Problem::Traits::BiasEnum == BlockAttentionBiasEnum::ALIBI) {
        const index_t away = i + seqlen_k - seqlen_q - n;
        score -= static_cast<const float*>(a.bias)[batch * a.stride_bias + head] *
                 static_cast<float>(away < 0 ? -away : away);
      }
      return expf(score - lse[i]);
    };
    float k_grad[kKeys][kD] = {}, v_grad[kKeys][kDv] = {};
    for (index_t i = 0; i < seqlen_q; ++i) {
      if (Mask::end(window, i, 1) <= first || Mask::begin(window, i) >= first + count) continue;
      if (lse[i] == negative_infinity()) continue;  // a row that saw nothing
      float q_row[kD], o_grad_row[kDv], s[kKeys], dp[kKeys];
      for (index_t c = 0; c < kD; ++c) {
        q_row[c] = c < a.hdim_q ? to_float(q[static_cast<long_index_t>(i) * a.stride_q + c]) : 0.f;
      }
      for (index_t c = 0; c < kDv; ++c) {
        o_grad_row[c] = c < a.hdim_v ? to_float(o_grad[static_cast<long_index_t>(i) * a.stride_do + c]) : 0.f;
      }
      keys.dot(q_row, s);
      values.dot(o_grad_row, dp);
      for (index_t n = 0; n < count; ++n) {
        const float p = weight(i, first + n, s[n]);
        const float ds = p * (dp[n] - d[i]);
        for (index_t c = 0; c < kDv; ++c) v_grad[n][c] += p * o_grad_row[c];
        for (index_t c = 0; c < kD; ++c) k_grad[n][c] += ds * a.scale * q_row[c];
        s[n] = ds * a.scale;
        if constexpr (Problem::Traits::kHasBiasGrad) {
          auto* bias_grad = static_cast<typename Types::BiasDataType*>(a.bias_grad) + dbias_at + head * a.head_dbias;
          bias_grad[static_cast<long_index_t>(i) * a.stride_dbias + first + n] =
              from_float<typename Types::BiasDataType>(ds);
        }
      }
      if constexpr (!Pipeline::kWritesDq) {
        // A deterministic kernel has a place for every tile of keys; others add to one that the caller cleared.
        const long_index_t split = Problem::kIsDeterministic ? block.x : 0;
        float* acc = a.q_grad_acc + split * a.split_dq_acc + acc_at + head * a.head_dq_acc +
                     static_cast<long_index_t>(i) * a.stride_dq_acc;
        float q_grad[kD] = {};
        key_rows.accumulate(s, count, q_grad);
        for (index_t c = 0; c < a.hdim_q; ++c) add_to(&acc[c], q_grad[c]);
      }
    }
    for (index_t n = 0; n < count; ++n) {
      auto* dk = static_cast<typename Types::KGradDataType*>(a.k_grad) + dk_at + head * a.head_dk;
      auto* dv = static_cast<typename Types::VGradDataType*>(a.v_grad) + dv_at + head * a.head_dv;
      KGradEpilogue_::store(dk + static_cast<long_index_t>(first + n) * a.stride_dk, k_grad[n], a.hdim_q);
      VGradEpilogue_::store(dv + static_cast<long_index_t>(first + n) * a.stride_dv, v_grad[n], a.hdim_v);
    }
    if constexpr (Pipeline::kWritesDq) {  // the dispatcher saw to it that all keys are this block's
      for (index_t i = block.thread; i < seqlen_q; i += kThreads) {
        const auto* q_row = q + static_cast<long_index_t>(i) * a.stride_q;
        const auto* o_grad_row = o_grad + static_cast<long_index_t>(i) * a.stride_do;
        float q_grad[kD] = {};
        for (index_t n = 0; n < seqlen_k && lse[i] != negative_infinity(); ++n) {
          float dot = 0.f, dp = 0.f;
          for (index_t c = 0; c < a.hdim_q; ++c) dot += to_float(q_row[c]) * to_float(k_row(n)[c]);
          for (index_t c = 0; c < a.hdim_v; ++c) dp += to_float(o_grad_row[c]) * to_float(v_row(n)[c]);
          const float ds = weight(i, n, dot) * (dp - d[i]) * a.scale;
          for (index_t c = 0; c < a.hdim_q; ++c) q_grad[c] += ds * to_float(k_row(n)[c]);
        }
        auto* dq = static_cast<typename Types::QGradDataType*>(a.q_grad) + dq_at + head * a.head_dq +
                   static_cast<long_index_t>(i) * a.stride_dq;
        for (index_t c = 0; c < a.hdim_q; ++c) dq[c] = from_float<typename Types::QGradDataType>(q_grad[c]);
      }
    }
  }
};

}  // namespace ck_tile
