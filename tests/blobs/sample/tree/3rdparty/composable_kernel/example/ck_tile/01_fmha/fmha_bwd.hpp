// Entry points of the backward pass: arguments (passed by value), traits, and the templates that blobs specialise.
// dk and dv have q's number of heads: who shares keys between heads adds them up. dq_acc is float and cleared by the
// caller; a deterministic kernel wants room for one a tile of keys, split_stride_dq_acc apart.
#pragma once
#include "bias.hpp"
#include "ck_tile/host/device.hpp"
#include "ck_tile/host/kernel_launch.hpp"
#include "ck_tile/ops/epilogue.hpp"
#include "ck_tile/ops/fmha/block/block_dropout.hpp"
#include "fmha_types.hpp"
#include "mask.hpp"

#include <cassert>
#include <string>
#include <utility>
#include <variant>

#ifndef SAMPLE_ARCH_PARAMETER
#if CK_TILE_GENERATION >= 2026
#define SAMPLE_ARCH_PARAMETER , typename Arch = void
#else
#define SAMPLE_ARCH_PARAMETER
#endif
#endif

struct fmha_bwd_args {
  const void* q_ptr;
  const void* k_ptr;
  const void* v_ptr;
  const void* bias_ptr;  // the bias, or ALiBi's slopes (float)
  const void* o_ptr;
  const void* lse_ptr;
  const void* do_ptr;
  void* d_ptr;
  void* rand_val_ptr;
  void* dq_ptr;
  void* dk_ptr;
  void* dv_ptr;
  void* dbias_ptr;
  void* dq_acc_ptr;
  const void* seqstart_q_ptr;
  const void* seqstart_k_ptr;
  const void* seqlen_k_ptr;
  ck_tile::index_t seqlen_q;
  ck_tile::index_t seqlen_k;
  ck_tile::index_t batch;
  ck_tile::index_t max_seqlen_q;
  ck_tile::index_t max_seqlen_k;
  ck_tile::index_t hdim_q;
  ck_tile::index_t hdim_v;
  ck_tile::index_t nhead_q;
  ck_tile::index_t nhead_k;
  float scale;
  ck_tile::index_t stride_q;
  ck_tile::index_t stride_k;
  ck_tile::index_t stride_v;
  ck_tile::index_t stride_bias;
  ck_tile::index_t stride_o;
  ck_tile::index_t stride_randval;
  ck_tile::index_t stride_do;
  ck_tile::index_t stride_dq_acc;
  ck_tile::index_t stride_dq;
  ck_tile::index_t stride_dk;
  ck_tile::index_t stride_dv;
  ck_tile::index_t stride_dbias;
  ck_tile::index_t nhead_stride_q;
  ck_tile::index_t nhead_stride_k;
  ck_tile::index_t nhead_stride_v;
  ck_tile::index_t nhead_stride_bias;
  ck_tile::index_t nhead_stride_o;
  ck_tile::index_t nhead_stride_randval;
  ck_tile::index_t nhead_stride_do;
  ck_tile::index_t nhead_stride_lsed;
  ck_tile::index_t nhead_stride_dq_acc;
  ck_tile::index_t nhead_stride_dq;
  ck_tile::index_t nhead_stride_dk;
  ck_tile::index_t nhead_stride_dv;
  ck_tile::index_t nhead_stride_dbias;
  ck_tile::index_t batch_stride_q;
  ck_tile::index_t batch_stride_k;
  ck_tile::index_t batch_stride_v;
  ck_tile::index_t batch_stride_bias;
  ck_tile::index_t batch_stride_o;
  ck_tile::index_t batch_stride_randval;
  ck_tile::index_t batch_stride_do;
  ck_tile::index_t batch_stride_lsed;
  ck_tile::index_t batch_stride_dq_acc;
  ck_tile::index_t batch_stride_dq;
  ck_tile::index_t batch_stride_dk;
  ck_tile::index_t batch_stride_dv;
  ck_tile::index_t batch_stride_dbias;
  ck_tile::index_t split_stride_dq_acc;
  ck_tile::index_t window_size_left;
  ck_tile::index_t window_size_right;
  ck_tile::index_t mask_type;
  float p_drop;
  float p_undrop;
  std::variant<std::pair<std::uint64_t, std::uint64_t>, std::pair<const void*, const void*>> drop_seed_offset;
};

struct fmha_bwd_traits {
  int hdim_q;
  int hdim_v;
  std::string data_type;
  bool is_group_mode;
  mask_enum mask_type;
  bias_enum bias_type;
  bool has_dbias;
  bool has_dropout;
  bool is_store_randval;
  bool is_deterministic;
};

template <ck_tile::index_t HDim_, typename DataType_, bool kIsGroupMode_, bool kPadS_, bool kPadDv_>
struct fmha_bwd_dot_do_o_traits_ {};

#if CK_TILE_GENERATION >= 2026
template <ck_tile::index_t HDim_, typename DataType_, bool kIsGroupMode_, typename FmhaMask_, typename FmhaDropout_,
          ck_tile::BlockAttentionBiasEnum BiasEnum_, bool kHasBiasGrad_, ck_tile::index_t kPadD_,
          ck_tile::index_t kPadDv_, bool kIsDeterministic_, bool kUseTrLoad_, ck_tile::index_t MaxSeqLenQ_,
          ck_tile::index_t kN0_>
struct fmha_bwd_dq_dk_dv_traits_ {};
template <ck_tile::index_t HDim_, typename DataType_, bool kIsGroupMode_, bool kPadS_, ck_tile::index_t kPadD_,
          bool kIsDeterministic_, ck_tile::index_t kN0_>
struct fmha_bwd_convert_dq_traits_ {};
#else
template <ck_tile::index_t HDim_, typename DataType_, bool kIsGroupMode_,
          ck_tile::BlockFmhaBwdPipelineEnum FmhaBwdPipelineEnum_, typename FmhaMask_, typename FmhaDropout_,
          ck_tile::BlockAttentionBiasEnum BiasEnum_, bool kHasBiasGrad_, bool kPadS_, bool kPadSK_, bool kPadD_,
          bool kPadDv_, bool kIsDeterministic_>
struct fmha_bwd_dq_dk_dv_traits_ {};
template <ck_tile::index_t HDim_, typename DataType_, bool kIsGroupMode_, bool kPadS_, bool kPadD_,
          bool kIsDeterministic_>
struct fmha_bwd_convert_dq_traits_ {};
#endif

template <typename Traits_ SAMPLE_ARCH_PARAMETER>
float fmha_bwd_dot_do_o_(const ck_tile::stream_config&, fmha_bwd_args);
template <typename Traits_ SAMPLE_ARCH_PARAMETER>
void fmha_bwd_dot_do_o_oneshot_(const ck_tile::stream_config&, fmha_bwd_args);
template <typename Traits_ SAMPLE_ARCH_PARAMETER>
std::string fmha_bwd_dot_do_o_get_name_();
template <typename Traits_ SAMPLE_ARCH_PARAMETER>
float fmha_bwd_dq_dk_dv_(const ck_tile::stream_config&, fmha_bwd_args);
template <typename Traits_ SAMPLE_ARCH_PARAMETER>
void fmha_bwd_dq_dk_dv_oneshot_(const ck_tile::stream_config&, fmha_bwd_args);
template <typename Traits_ SAMPLE_ARCH_PARAMETER>
std::string fmha_bwd_dq_dk_dv_get_name_();
template <typename Traits_ SAMPLE_ARCH_PARAMETER>
float fmha_bwd_convert_dq_(const ck_tile::stream_config&, fmha_bwd_args);
template <typename Traits_ SAMPLE_ARCH_PARAMETER>
void fmha_bwd_convert_dq_oneshot_(const ck_tile::stream_config&, fmha_bwd_args);
template <typename Traits_ SAMPLE_ARCH_PARAMETER>
std::string fmha_bwd_convert_dq_get_name_();

#if CK_TILE_GENERATION >= 2026
template <int Version = 2>
float fmha_bwd(fmha_bwd_traits, fmha_bwd_args, const ck_tile::stream_config&);
#else
float fmha_bwd(fmha_bwd_traits, fmha_bwd_args, const ck_tile::stream_config&);
#endif

template <typename Kernel>
auto fmha_bwd_dq_dk_dv_create_kargs_and_grids(const fmha_bwd_args& a) {
  assert(a.nhead_q % a.nhead_k == 0);
  typename Kernel::Kargs k{};
  k.q = a.q_ptr, k.k = a.k_ptr, k.v = a.v_ptr, k.bias = a.bias_ptr, k.o_grad = a.do_ptr;
  k.lse = static_cast<const float*>(a.lse_ptr), k.d = static_cast<const float*>(a.d_ptr);
  k.q_grad = a.dq_ptr, k.k_grad = a.dk_ptr, k.v_grad = a.dv_ptr, k.bias_grad = a.dbias_ptr;
  k.q_grad_acc = static_cast<float*>(a.dq_acc_ptr);
  k.seqstart_q = static_cast<const std::int32_t*>(a.seqstart_q_ptr);
  k.seqstart_k = static_cast<const std::int32_t*>(a.seqstart_k_ptr);
  k.seqlen_q = a.seqlen_q, k.seqlen_k = a.seqlen_k, k.hdim_q = a.hdim_q, k.hdim_v = a.hdim_v;
  k.heads_per_key = a.nhead_q / a.nhead_k, k.scale = a.scale;
  k.stride_q = a.stride_q, k.stride_k = a.stride_k, k.stride_v = a.stride_v, k.stride_bias = a.stride_bias;
  k.stride_do = a.stride_do, k.stride_dq_acc = a.stride_dq_acc, k.stride_dq = a.stride_dq;
  k.stride_dk = a.stride_dk, k.stride_dv = a.stride_dv, k.stride_dbias = a.stride_dbias;
  k.head_q = a.nhead_stride_q, k.head_k = a.nhead_stride_k, k.head_v = a.nhead_stride_v;
  k.head_bias = a.nhead_stride_bias, k.head_do = a.nhead_stride_do, k.head_lsed = a.nhead_stride_lsed;
  k.head_dq_acc = a.nhead_stride_dq_acc, k.head_dq = a.nhead_stride_dq, k.head_dk = a.nhead_stride_dk;
  k.head_dv = a.nhead_stride_dv, k.head_dbias = a.nhead_stride_dbias;
  k.batch_q = a.batch_stride_q, k.batch_k = a.batch_stride_k, k.batch_v = a.batch_stride_v;
  k.batch_bias = a.batch_stride_bias, k.batch_do = a.batch_stride_do, k.batch_lsed = a.batch_stride_lsed;
  k.batch_dq_acc = a.batch_stride_dq_acc, k.batch_dq = a.batch_stride_dq, k.batch_dk = a.batch_stride_dk;
  k.batch_dv = a.batch_stride_dv, k.batch_dbias = a.batch_stride_dbias, k.split_dq_acc = a.split_stride_dq_acc;
  k.window_left = a.window_size_left, k.window_right = a.window_size_right, k.mask_type = a.mask_type;
  return std::pair(k, Kernel::GridSize(a.batch, a.nhead_q, a.max_seqlen_k));
}

template <typename Kernel>
auto fmha_bwd_dot_do_o_create_kargs_and_grids(const fmha_bwd_args& a) {
  typename Kernel::Kargs k{};
  k.o = a.o_ptr, k.o_grad = a.do_ptr, k.d = static_cast<float*>(a.d_ptr), k.p_undrop = a.p_undrop;
  k.seqstart_q = static_cast<const std::int32_t*>(a.seqstart_q_ptr);
  k.seqlen_q = a.seqlen_q, k.hdim_v = a.hdim_v, k.stride_do = a.stride_do, k.stride_o = a.stride_o;
  k.head_do = a.nhead_stride_do, k.head_o = a.nhead_stride_o, k.head_lsed = a.nhead_stride_lsed;
  k.batch_do = a.batch_stride_do, k.batch_o = a.batch_stride_o, k.batch_lsed = a.batch_stride_lsed;
  return std::pair(k, Kernel::GridSize(a.batch, a.nhead_q, a.max_seqlen_q));
}

template <typename Kernel>
auto fmha_bwd_convert_dq_create_kargs_and_grids(const fmha_bwd_args& a) {
  typename Kernel::Kargs k{};
  k.q_grad_acc = static_cast<const float*>(a.dq_acc_ptr), k.q_grad = a.dq_ptr;
  k.seqstart_q = static_cast<const std::int32_t*>(a.seqstart_q_ptr);
  k.seqstart_k = static_cast<const std::int32_t*>(a.seqstart_k_ptr);
  k.seqlen_q = a.seqlen_q, k.seqlen_k = a.seqlen_k, k.hdim_q = a.hdim_q;
  k.stride_dq_acc = a.stride_dq_acc, k.stride_dq = a.stride_dq, k.head_dq_acc = a.nhead_stride_dq_acc;
  k.head_dq = a.nhead_stride_dq, k.batch_dq_acc = a.batch_stride_dq_acc, k.batch_dq = a.batch_stride_dq;
  k.split_dq_acc = a.split_stride_dq_acc;
  return std::pair(k, Kernel::GridSize(a.batch, a.nhead_q, a.max_seqlen_q));
}
