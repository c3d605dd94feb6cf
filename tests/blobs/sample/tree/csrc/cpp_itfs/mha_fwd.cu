// The host side of forward attention.
#include "mha_fwd.h"

#include "fmha_fwd.hpp"

namespace {

fmha_fwd_traits traits_of(const SampleFwdArgs& a) {
  fmha_fwd_traits t{};
  t.hdim_q = a.hdim_q;
  t.hdim_v = a.hdim_v;
  t.data_type = a.data_type;
  t.is_group_mode = a.is_group_mode != 0;
  t.is_v_rowmajor = a.is_v_rowmajor != 0;
  t.has_logits_soft_cap = a.has_logits_soft_cap != 0;
  t.mask_type = static_cast<mask_enum>(a.mask_type);
  t.bias_type = static_cast<bias_enum>(a.bias_type);
  t.has_lse = a.has_lse != 0;
  return t;
}

fmha_fwd_args arguments_of(const SampleFwdArgs& a) {
  fmha_fwd_args r{};
  r.q_ptr = a.q, r.k_ptr = a.k, r.v_ptr = a.v, r.bias_ptr = a.bias, r.lse_ptr = a.lse, r.o_ptr = a.o;
  r.seqstart_q_ptr = a.seqstart_q, r.seqstart_k_ptr = a.seqstart_k, r.seqlen_k_ptr = a.seqlen_k_of;
  r.batch = a.batch, r.nhead_q = a.nhead_q, r.nhead_k = a.nhead_k;
  r.seqlen_q = a.seqlen_q, r.seqlen_k = a.seqlen_k, r.max_seqlen_q = a.max_seqlen_q;
  r.hdim_q = a.hdim_q, r.hdim_v = a.hdim_v;
  r.scale_s = a.scale, r.scale_p = 1, r.scale_o = 1, r.logits_soft_cap = a.logits_soft_cap;
  r.stride_q = a.stride_q, r.stride_k = a.stride_k, r.stride_v = a.stride_v, r.stride_bias = a.stride_bias;
  r.stride_o = a.stride_o;
  r.nhead_stride_q = a.nhead_stride_q, r.nhead_stride_k = a.nhead_stride_k, r.nhead_stride_v = a.nhead_stride_v;
  r.nhead_stride_bias = a.nhead_stride_bias, r.nhead_stride_lse = a.nhead_stride_lse;
  r.nhead_stride_o = a.nhead_stride_o;
  r.batch_stride_q = a.batch_stride_q, r.batch_stride_k = a.batch_stride_k, r.batch_stride_v = a.batch_stride_v;
  r.batch_stride_bias = a.batch_stride_bias, r.batch_stride_lse = a.batch_stride_lse;
  r.batch_stride_o = a.batch_stride_o;
  r.window_size_left = a.window_left, r.window_size_right = a.window_right, r.mask_type = a.mask_type;
  return r;
}

}  // namespace

SAMPLE_EXPORT int sample_mha_fwd(const SampleFwdArgs* args, char* error, std::size_t error_size) {
  const auto run = [&] {
    ck_tile::stream_config stream{static_cast<hipStream_t>(args->stream)};
    stream.log_level_ = args->log_level;
    return fmha_fwd(traits_of(*args), arguments_of(*args), stream);
  };
  return sample_call(run, error, error_size);
}
