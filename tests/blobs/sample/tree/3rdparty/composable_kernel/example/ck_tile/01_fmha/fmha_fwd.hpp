// Entry points of forward attention: argument structs (passed by value), traits, and the templates that blobs
// specialise. Strides count elements; sequences of a group lie behind each other and begin at seqstart_*.
#pragma once
#include "bias.hpp"
#include "ck_tile/host/device.hpp"
#include "ck_tile/host/kernel_launch.hpp"
#include "ck_tile/ops/epilogue.hpp"
#include "fmha_types.hpp"
#include "mask.hpp"

#include <cassert>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#if CK_TILE_GENERATION >= 2026
#define SAMPLE_ARCH_PARAMETER , typename Arch = void
#else
#define SAMPLE_ARCH_PARAMETER
#endif

#include "fmha_fwd_kvcache.hpp"

struct fmha_fwd_args {
  const void* q_ptr;
  const void* k_ptr;
  const void* v_ptr;
  const void* bias_ptr;  // the bias, or ALiBi's slopes (float)
  void* rand_val_ptr;
  void* lse_ptr;
  void* o_ptr;
  const void* seqstart_q_ptr;
  const void* seqstart_k_ptr;
  const void* seqlen_k_ptr;
  ck_tile::index_t seqlen_q;
  ck_tile::index_t seqlen_k;
  ck_tile::index_t batch;
  ck_tile::index_t max_seqlen_q;
  ck_tile::index_t hdim_q;
  ck_tile::index_t hdim_v;
  ck_tile::index_t nhead_q;
  ck_tile::index_t nhead_k;
  float scale_s;
  float scale_p;
  float scale_o;
  float logits_soft_cap;
  ck_tile::index_t stride_q;
  ck_tile::index_t stride_k;
  ck_tile::index_t stride_v;
  ck_tile::index_t stride_bias;  // ALiBi: slopes of a batch entry, 0 when all have the same
  ck_tile::index_t stride_randval;
  ck_tile::index_t stride_o;
  ck_tile::index_t nhead_stride_q;
  ck_tile::index_t nhead_stride_k;
  ck_tile::index_t nhead_stride_v;
  ck_tile::index_t nhead_stride_bias;
  ck_tile::index_t nhead_stride_randval;
  ck_tile::index_t nhead_stride_lse;
  ck_tile::index_t nhead_stride_o;
  ck_tile::index_t batch_stride_q;
  ck_tile::index_t batch_stride_k;
  ck_tile::index_t batch_stride_v;
  ck_tile::index_t batch_stride_bias;
  ck_tile::index_t batch_stride_randval;
  ck_tile::index_t batch_stride_lse;
  ck_tile::index_t batch_stride_o;
  ck_tile::index_t window_size_left;
  ck_tile::index_t window_size_right;
  ck_tile::index_t mask_type;
  ck_tile::index_t min_seqlen_q;
  float p_drop;
  bool s_randval;
  std::variant<std::pair<std::uint64_t, std::uint64_t>, std::pair<const void*, const void*>> drop_seed_offset;
};

struct fmha_fwd_traits {
  int hdim_q;
  int hdim_v;
  std::string data_type;
  bool is_group_mode;
  bool is_v_rowmajor;
  bool has_logits_soft_cap;
  mask_enum mask_type;
  bias_enum bias_type;
  bool has_lse;
  bool has_dropout;
#if CK_TILE_GENERATION >= 2026
  quant_scale_enum qscale_type;
  bool skip_min_seqlen_q;
  bool has_sink;
#else
  bool do_fp8_static_quant;
  bool skip_min_seqlen_q;
#endif
};

// What makes one forward blob different from another.
template <ck_tile::index_t HDim_, typename DataType_, bool kIsGroupMode_, ck_tile::index_t kM0_, ck_tile::index_t kN0_,
          ck_tile::index_t kK0_, ck_tile::index_t kN1_, ck_tile::index_t kK1_, ck_tile::index_t kK0BlockLength_,
          bool kIsVLayoutRowMajor_, ck_tile::BlockFmhaPipelineEnum FmhaPipelineEnum_, bool kHasLogitsSoftCap_,
          typename FmhaMask_, ck_tile::BlockAttentionBiasEnum BiasEnum_, bool kStoreLse_, bool kHasDropout_,
#if CK_TILE_GENERATION >= 2026
          ck_tile::BlockAttentionQuantScaleEnum QScaleEnum_, bool kPadS_, bool kPadSK_, bool kPadD_, bool kPadDv_,
          bool kUseTrLoad_, bool kSkipMinSeqlenQ_ = false, bool kHasSink_ = false>
#else
          bool kDoFp8StaticQuant_, bool kPadS_, bool kPadSK_, bool kPadD_, bool kPadDv_, bool kSkipMinSeqlenQ_ = false>
#endif
struct fmha_fwd_traits_ {
};

template <typename Traits_ SAMPLE_ARCH_PARAMETER>
float fmha_fwd_(const ck_tile::stream_config&, fmha_fwd_args);

float fmha_fwd(fmha_fwd_traits, fmha_fwd_args, const ck_tile::stream_config&);
#if CK_TILE_GENERATION >= 2026
// Runs every kernel that fits, for comparisons: name and milliseconds.
std::vector<std::pair<std::string, float>> fmha_fwd_all(fmha_fwd_traits, fmha_fwd_args, const ck_tile::stream_config&);
#endif

template <typename FmhaKernel>
auto fmha_fwd_create_kargs_and_grids(const fmha_fwd_args& a) {
  assert(a.nhead_q % a.nhead_k == 0);
  typename FmhaKernel::Kargs kargs{};
  kargs.q = a.q_ptr, kargs.k = a.k_ptr, kargs.v = a.v_ptr, kargs.bias = a.bias_ptr;
  kargs.lse = a.lse_ptr, kargs.o = a.o_ptr;
  kargs.seqstart_q = static_cast<const std::int32_t*>(a.seqstart_q_ptr);
  kargs.seqstart_k = static_cast<const std::int32_t*>(a.seqstart_k_ptr);
  kargs.seqlen_k_of = static_cast<const std::int32_t*>(a.seqlen_k_ptr);
  kargs.seqlen_q = a.seqlen_q, kargs.seqlen_k = a.seqlen_k, kargs.hdim_q = a.hdim_q, kargs.hdim_v = a.hdim_v;
  kargs.heads_per_key = a.nhead_q / a.nhead_k;
  kargs.scale = a.scale_s, kargs.soft_cap = a.logits_soft_cap;
  kargs.stride_q = a.stride_q, kargs.stride_k = a.stride_k, kargs.stride_v = a.stride_v;
  kargs.stride_bias = a.stride_bias, kargs.stride_o = a.stride_o;
  kargs.head_q = a.nhead_stride_q, kargs.head_k = a.nhead_stride_k, kargs.head_v = a.nhead_stride_v;
  kargs.head_bias = a.nhead_stride_bias, kargs.head_lse = a.nhead_stride_lse, kargs.head_o = a.nhead_stride_o;
  kargs.batch_q = a.batch_stride_q, kargs.batch_k = a.batch_stride_k, kargs.batch_v = a.batch_stride_v;
  kargs.batch_bias = a.batch_stride_bias, kargs.batch_lse = a.batch_stride_lse, kargs.batch_o = a.batch_stride_o;
  kargs.window_left = a.window_size_left, kargs.window_right = a.window_size_right;
  kargs.mask_type = a.mask_type, kargs.min_seqlen_q = a.min_seqlen_q;
  return std::pair(kargs, FmhaKernel::GridSize(a.batch, a.nhead_q, a.max_seqlen_q));
}
