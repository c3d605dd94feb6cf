// The backward pass's first and last step: D = rowsum(dO * O), and dq from its float sums.
#pragma once
#include "ck_tile/ops/fmha.hpp"

namespace ck_tile {

struct fmha_bwd_dot_do_o_kargs {
  const void *o, *o_grad;
  float* d;
  const std::int32_t* seqstart_q;
  float p_undrop;
  index_t seqlen_q, hdim_v, stride_do, stride_o, head_do, head_o, head_lsed, batch_do, batch_o, batch_lsed;
};

template <typename TypeConfig_, index_t kBlockSize_, index_t kVHeaddim_, bool kIsGroupMode_>
struct FmhaBwdOGradDotOKernel {
  using Types = TypeConfig_;
  using Kargs = fmha_bwd_dot_do_o_kargs;
  static constexpr index_t kBlockPerCu = 2;
  static constexpr index_t kM0 = kBlockSize_;
  static constexpr index_t kThreads = threads_of_block<kBlockSize_>;

  static std::string GetName() { return "fmha_bwd_dot_do_o_d" + std::to_string(kVHeaddim_); }
  static constexpr dim3 BlockSize() { return dim3(kBlockSize_); }
  static dim3 GridSize(index_t batch, index_t nhead, index_t max_seqlen_q) {
    return dim3(integer_divide_ceil(max_seqlen_q, kM0), nhead, batch);
  }

  CK_TILE_DEVICE void operator()(const block_context& block, const Kargs& a) const {
    const long_index_t batch = block.z, head = block.y;
    long_index_t o_at = batch * a.batch_o, do_at = batch * a.batch_do, lsed_at = batch * a.batch_lsed;
    index_t seqlen_q = a.seqlen_q;
    if constexpr (kIsGroupMode_) {
      const long_index_t q0 = a.seqstart_q[batch];
      seqlen_q = a.seqstart_q[batch + 1] - static_cast<index_t>(q0);
      o_at = q0 * a.stride_o, do_at = q0 * a.stride_do, lsed_at = q0;
    }
    const index_t first = static_cast<index_t>(block.x) * kM0;
    for (index_t i = first + block.thread; i < min(first + kM0, seqlen_q); i += kThreads) {
      const auto* o = static_cast<const typename Types::ODataType*>(a.o) + o_at + head * a.head_o +
                      static_cast<long_index_t>(i) * a.stride_o;
      const auto* o_grad = static_cast<const typename Types::OGradDataType*>(a.o_grad) + do_at + head * a.head_do +
                           static_cast<long_index_t>(i) * a.stride_do;
      float sum = 0.f;
      for (index_t c = 0; c < a.hdim_v; ++c) sum += to_float(o[c]) * to_float(o_grad[c]);
      a.d[lsed_at + head * a.head_lsed + i] = sum * a.p_undrop;
    }
  }
};

struct fmha_bwd_convert_dq_kargs {
  const float* q_grad_acc;
  void* q_grad;
  const std::int32_t *seqstart_q, *seqstart_k;
  index_t seqlen_q, seqlen_k, hdim_q, stride_dq_acc, stride_dq, head_dq_acc, head_dq, batch_dq_acc, batch_dq,
      split_dq_acc;
};

template <typename TypeConfig_, index_t kBlockSize_, index_t kM0_, index_t kN0_, index_t kQKHeaddim_,
          bool kIsGroupMode_, bool kIsDeterministic_>
struct FmhaBwdConvertQGradKernel {
  using T = typename TypeConfig_::QGradDataType;
  using Kargs = fmha_bwd_convert_dq_kargs;
  static constexpr index_t kBlockPerCu = 2;
  static constexpr index_t kThreads = threads_of_block<kBlockSize_>;

  static std::string GetName() { return "fmha_bwd_convert_dq_d" + std::to_string(kQKHeaddim_); }
  static constexpr dim3 BlockSize() { return dim3(kBlockSize_); }
  static dim3 GridSize(index_t batch, index_t nhead, index_t max_seqlen_q) {
    return dim3(integer_divide_ceil(max_seqlen_q, kM0_), nhead, batch);
  }

  CK_TILE_DEVICE void operator()(const block_context& block, const Kargs& a) const {
    const long_index_t batch = block.z, head = block.y;
    long_index_t acc_at = batch * a.batch_dq_acc, dq_at = batch * a.batch_dq;
    index_t seqlen_q = a.seqlen_q, seqlen_k = a.seqlen_k;
    if constexpr (kIsGroupMode_) {
      const long_index_t q0 = a.seqstart_q[batch];
      seqlen_q = a.seqstart_q[batch + 1] - static_cast<index_t>(q0);
      seqlen_k = a.seqstart_k[batch + 1] - a.seqstart_k[batch];
      acc_at = q0 * a.stride_dq_acc, dq_at = q0 * a.stride_dq;
    }
    const index_t splits = kIsDeterministic_ ? integer_divide_ceil(seqlen_k, kN0_) : 1;
    const index_t first = static_cast<index_t>(block.x) * kM0_;
    for (index_t i = first + block.thread; i < min(first + kM0_, seqlen_q); i += kThreads) {
      const float* acc = a.q_grad_acc + acc_at + head * a.head_dq_acc + static_cast<long_index_t>(i) * a.stride_dq_acc;
      T* dq = static_cast<T*>(a.q_grad) + dq_at + head * a.head_dq + static_cast<long_index_t>(i) * a.stride_dq;
      for (index_t c = 0; c < a.hdim_q; ++c) {
        float sum = 0.f;
        for (index_t s = 0; s < splits; ++s) sum += acc[static_cast<long_index_t>(s) * a.split_dq_acc + c];
        dq[c] = from_float<T>(sum);
      }
    }
  }
};

}  // namespace ck_tile
