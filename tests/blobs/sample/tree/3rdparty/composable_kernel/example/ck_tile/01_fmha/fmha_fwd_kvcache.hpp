// Entry points for attention over a cache of keys: split over the keys with a combining step, and appending to the
// cache. Part of fmha_fwd.hpp.
#pragma once
#include "ck_tile/host/kernel_launch.hpp"
#include "fmha_types.hpp"
#include "mask.hpp"
#include "rotary.hpp"

#include <cassert>
#include <string>
#include <utility>

// o_acc and lse_acc hold one float result a split, which the combining step merges into o and lse.
struct fmha_fwd_splitkv_args {
  const void* q_ptr;
  const void* k_ptr;
  const void* v_ptr;
  const void* bias_ptr;
  void* lse_acc_ptr;
  void* o_acc_ptr;
  void* lse_ptr;
  void* o_ptr;
  void* block_table_ptr;                      // int32: pages of a batch entry; null: the cache is one piece
  ck_tile::index_t batch_stride_block_table;  // pages that a batch entry has room for
  ck_tile::index_t page_block_size;           // rows a page
  bool is_gappy;
  const void* cache_batch_idx;  // int32: where in the cache a batch entry is; null: at its own index
  const void* seqstart_q_ptr;
  const void* seqstart_k_ptr;
  const void* seqlen_k_ptr;  // int32: keys a batch entry; null: seqlen_k for all
  ck_tile::index_t seqlen_q;
  ck_tile::index_t seqlen_k;
  ck_tile::index_t batch;
  ck_tile::index_t max_seqlen_q;
  ck_tile::index_t hdim_q;
  ck_tile::index_t hdim_v;
  ck_tile::index_t nhead_q;
  ck_tile::index_t nhead_k;
  ck_tile::index_t num_splits;
  float scale_s;
  float scale_p;
  float scale_o;
  float logits_soft_cap;
  ck_tile::index_t stride_q;
  ck_tile::index_t stride_k;
  ck_tile::index_t stride_v;
  ck_tile::index_t stride_bias;
  ck_tile::index_t stride_o_acc;
  ck_tile::index_t stride_o;
  ck_tile::index_t nhead_stride_q;
  ck_tile::index_t nhead_stride_k;
  ck_tile::index_t nhead_stride_v;
  ck_tile::index_t nhead_stride_bias;
  ck_tile::index_t nhead_stride_lse;
  ck_tile::index_t nhead_stride_lse_acc;
  ck_tile::index_t nhead_stride_o_acc;
  ck_tile::index_t nhead_stride_o;
  ck_tile::index_t batch_stride_q;
  ck_tile::index_t batch_stride_k;
  ck_tile::index_t batch_stride_v;
  ck_tile::index_t batch_stride_bias;
  ck_tile::index_t batch_stride_lse;
  ck_tile::index_t batch_stride_lse_acc;
  ck_tile::index_t batch_stride_o_acc;
  ck_tile::index_t batch_stride_o;
  ck_tile::index_t split_stride_lse_acc;
  ck_tile::index_t split_stride_o_acc;
  ck_tile::index_t window_size_left;
  ck_tile::index_t window_size_right;
  ck_tile::index_t mask_type;
};

struct fmha_fwd_splitkv_traits {
  int hdim_q;
  int hdim_v;
  std::string data_type;
  bool is_group_mode;
  bool is_v_rowmajor;
  bool has_logits_soft_cap;
  mask_enum mask_type;
  bias_enum bias_type;
  bool has_lse;
  bool do_fp8_static_quant;
  bool has_sink;
};

struct fmha_fwd_appendkv_args {
  void* q_ptr;
  void* k_ptr;
  const void* knew_ptr;
  void* v_ptr;
  const void* vnew_ptr;
  const void* seqlen_k_ptr;  // int32: rows that a batch entry's cache already has
  ck_tile::index_t seqlen_q;
  ck_tile::index_t seqlen_knew;
  ck_tile::index_t batch;
  ck_tile::index_t hdim_q;
  ck_tile::index_t hdim_v;
  ck_tile::index_t nhead_q;
  ck_tile::index_t nhead_k;
  const void* rotary_cos_ptr;  // (position, rotary_dim / 2)
  const void* rotary_sin_ptr;
  ck_tile::index_t rotary_dim;
  bool has_mask;
  void* block_table_ptr;
  ck_tile::index_t batch_stride_block_table;
  ck_tile::index_t page_block_size;
  const void* cache_batch_idx;
  ck_tile::index_t stride_q;
  ck_tile::index_t stride_k;
  ck_tile::index_t stride_knew;
  ck_tile::index_t stride_v;
  ck_tile::index_t stride_vnew;
  ck_tile::index_t nhead_stride_q;
  ck_tile::index_t nhead_stride_k;
  ck_tile::index_t nhead_stride_knew;
  ck_tile::index_t nhead_stride_v;
  ck_tile::index_t nhead_stride_vnew;
  ck_tile::index_t batch_stride_q;
  ck_tile::index_t batch_stride_k;
  ck_tile::index_t batch_stride_knew;
  ck_tile::index_t batch_stride_v;
  ck_tile::index_t batch_stride_vnew;
};

struct fmha_fwd_appendkv_traits {
  int hdim_q;
  int hdim_v;
  std::string data_type;
  bool is_v_rowmajor;
  rope_enum rope_type;
};

template <ck_tile::index_t HDim_, typename DataType_, bool kIsGroupMode_, ck_tile::index_t kM0_, ck_tile::index_t kN0_,
          ck_tile::index_t kK0_, ck_tile::index_t kN1_, ck_tile::index_t kK1_, ck_tile::index_t kK0BlockLength_,
          bool kIsVLayoutRowMajor_, ck_tile::BlockFmhaPipelineEnum FmhaPipelineEnum_, bool kHasLogitsSoftCap_,
          typename FmhaMask_, ck_tile::BlockAttentionBiasEnum BiasEnum_, bool kStoreLse_, bool kDoFp8StaticQuant_,
          bool kIsPagedKV_,
#if CK_TILE_GENERATION >= 2026
          bool kHasSink_,
#endif
          bool kPadS_, bool kPadSK_, bool kPadD_, bool kPadDv_>
struct fmha_fwd_splitkv_traits_ {
};

#if CK_TILE_GENERATION >= 2026
template <ck_tile::index_t HDim_, typename DataType_, bool kIsGroupMode_, ck_tile::index_t kN1_, bool kStoreLse_,
          bool kDoFp8StaticQuant_, bool kPadS_, bool kPadDv_>
#else
template <ck_tile::index_t HDim_, typename DataType_, bool kIsGroupMode_, ck_tile::index_t kM0_, ck_tile::index_t kN1_,
          bool kStoreLse_, bool kDoFp8StaticQuant_, bool kPadS_, bool kPadDv_>
#endif
struct fmha_fwd_splitkv_combine_traits_ {
};

template <ck_tile::index_t HDim_, typename DataType_, ck_tile::index_t kTileSizeS_, ck_tile::index_t kTileSizeSk_,
          ck_tile::index_t kTileSizeD_, ck_tile::index_t kTileSizeDv_, bool kIsVLayoutRowMajor_, bool kPadS_,
          bool kPadSk_, bool kPadD_, bool kPadDv_, ck_tile::RotaryEmbeddingEnum RotaryEnum_, bool kIsPagedKV_>
struct fmha_fwd_appendkv_traits_ {};

template <typename Traits_ SAMPLE_ARCH_PARAMETER>
void fmha_fwd_splitkv_oneshot_(const ck_tile::stream_config&, fmha_fwd_splitkv_args);
template <typename Traits_ SAMPLE_ARCH_PARAMETER>
std::string fmha_fwd_splitkv_get_name_();
template <typename Traits_ SAMPLE_ARCH_PARAMETER>
void fmha_fwd_splitkv_combine_oneshot_(const ck_tile::stream_config&, fmha_fwd_splitkv_args);
template <typename Traits_ SAMPLE_ARCH_PARAMETER>
std::string fmha_fwd_splitkv_combine_get_name_();
template <typename Traits_ SAMPLE_ARCH_PARAMETER>
float fmha_fwd_appendkv_(const ck_tile::stream_config&, fmha_fwd_appendkv_args);

float fmha_fwd_splitkv(fmha_fwd_splitkv_traits, fmha_fwd_splitkv_args, const ck_tile::stream_config&);
float fmha_fwd_appendkv(fmha_fwd_appendkv_traits, fmha_fwd_appendkv_args, const ck_tile::stream_config&);

template <typename Kernel>
auto fmha_fwd_splitkv_create_kargs_and_grids(const fmha_fwd_splitkv_args& a) {
  assert(a.nhead_q % a.nhead_k == 0);
  typename Kernel::Kargs kargs{};
  auto& base = kargs.base;
  base.q = a.q_ptr, base.k = a.k_ptr, base.v = a.v_ptr, base.bias = a.bias_ptr;
  base.lse = a.lse_acc_ptr, base.o = a.o_acc_ptr;
  base.seqstart_q = static_cast<const std::int32_t*>(a.seqstart_q_ptr);
  base.seqstart_k = static_cast<const std::int32_t*>(a.seqstart_k_ptr);
  base.seqlen_k_of = static_cast<const std::int32_t*>(a.seqlen_k_ptr);
  base.seqlen_q = a.seqlen_q, base.seqlen_k = a.seqlen_k, base.hdim_q = a.hdim_q, base.hdim_v = a.hdim_v;
  base.heads_per_key = a.nhead_q / a.nhead_k;
  base.scale = a.scale_s, base.soft_cap = a.logits_soft_cap;
  base.stride_q = a.stride_q, base.stride_k = a.stride_k, base.stride_v = a.stride_v;
  base.stride_bias = a.stride_bias, base.stride_o = a.stride_o_acc;
  base.head_q = a.nhead_stride_q, base.head_k = a.nhead_stride_k, base.head_v = a.nhead_stride_v;
  base.head_bias = a.nhead_stride_bias, base.head_lse = a.nhead_stride_lse_acc, base.head_o = a.nhead_stride_o_acc;
  base.batch_q = a.batch_stride_q, base.batch_k = a.batch_stride_k, base.batch_v = a.batch_stride_v;
  base.batch_bias = a.batch_stride_bias, base.batch_lse = a.batch_stride_lse_acc, base.batch_o = a.batch_stride_o_acc;
  base.window_left = a.window_size_left, base.window_right = a.window_size_right, base.mask_type = a.mask_type;
  kargs.block_table = static_cast<const std::int32_t*>(a.block_table_ptr);
  kargs.cache_batch_idx = static_cast<const std::int32_t*>(a.cache_batch_idx);
  kargs.pages_of_batch = a.batch_stride_block_table, kargs.page_rows = a.page_block_size;
  kargs.num_splits = a.num_splits, kargs.split_lse = a.split_stride_lse_acc, kargs.split_o = a.split_stride_o_acc;
  return std::pair(kargs, Kernel::GridSize(a.batch, a.nhead_q, a.max_seqlen_q, a.num_splits));
}

template <typename Kernel>
auto fmha_fwd_splitkv_combine_create_kargs_and_grids(const fmha_fwd_splitkv_args& a) {
  typename Kernel::Kargs kargs{};
  kargs.lse_acc = static_cast<const float*>(a.lse_acc_ptr), kargs.o_acc = static_cast<const float*>(a.o_acc_ptr);
  kargs.lse = static_cast<float*>(a.lse_ptr), kargs.o = a.o_ptr;
  kargs.seqstart_q = static_cast<const std::int32_t*>(a.seqstart_q_ptr);
  kargs.seqlen_q = a.seqlen_q, kargs.hdim_v = a.hdim_v, kargs.num_splits = a.num_splits;
  kargs.stride_o_acc = a.stride_o_acc, kargs.stride_o = a.stride_o;
  kargs.head_lse_acc = a.nhead_stride_lse_acc, kargs.head_o_acc = a.nhead_stride_o_acc;
  kargs.head_lse = a.nhead_stride_lse, kargs.head_o = a.nhead_stride_o;
  kargs.batch_lse_acc = a.batch_stride_lse_acc, kargs.batch_o_acc = a.batch_stride_o_acc;
  kargs.batch_lse = a.batch_stride_lse, kargs.batch_o = a.batch_stride_o;
  kargs.split_lse = a.split_stride_lse_acc, kargs.split_o = a.split_stride_o_acc;
  return std::pair(kargs, Kernel::GridSize(a.batch, a.nhead_q, a.max_seqlen_q));
}

template <typename Kernel>
auto fmha_fwd_appendkv_create_kargs_and_grids(const fmha_fwd_appendkv_args& a) {
  typename Kernel::Kargs kargs{};
  kargs.q = a.q_ptr, kargs.k = a.k_ptr, kargs.k_new = a.knew_ptr, kargs.v = a.v_ptr, kargs.v_new = a.vnew_ptr;
  kargs.seqlen_k_of = static_cast<const std::int32_t*>(a.seqlen_k_ptr);
  kargs.block_table = static_cast<const std::int32_t*>(a.block_table_ptr);
  kargs.cache_batch_idx = static_cast<const std::int32_t*>(a.cache_batch_idx);
  kargs.rotary_cos = a.rotary_cos_ptr, kargs.rotary_sin = a.rotary_sin_ptr, kargs.rotary_dim = a.rotary_dim;
  kargs.has_mask = a.has_mask;
  kargs.pages_of_batch = a.batch_stride_block_table, kargs.page_rows = a.page_block_size;
  kargs.seqlen_q = a.seqlen_q, kargs.seqlen_new = a.seqlen_knew, kargs.hdim_q = a.hdim_q, kargs.hdim_v = a.hdim_v;
  kargs.nhead_q = a.nhead_q, kargs.nhead_k = a.nhead_k;
  kargs.stride_q = a.stride_q, kargs.stride_k = a.stride_k, kargs.stride_k_new = a.stride_knew;
  kargs.stride_v = a.stride_v, kargs.stride_v_new = a.stride_vnew;
  kargs.head_q = a.nhead_stride_q, kargs.head_k = a.nhead_stride_k, kargs.head_k_new = a.nhead_stride_knew;
  kargs.head_v = a.nhead_stride_v, kargs.head_v_new = a.nhead_stride_vnew;
  kargs.batch_q = a.batch_stride_q, kargs.batch_k = a.batch_stride_k, kargs.batch_k_new = a.batch_stride_knew;
  kargs.batch_v = a.batch_stride_v, kargs.batch_v_new = a.batch_stride_vnew;
  return std::pair(kargs, Kernel::GridSize(a.batch, a.nhead_q, a.nhead_k, a.seqlen_q, a.seqlen_knew));
}
