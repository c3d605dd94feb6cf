// The host side of the backward pass.
#include "mha_bwd.h"

#include "fmha_bwd.hpp"

namespace {

fmha_bwd_args arguments_of(const SampleBwdArgs& a) {
  fmha_bwd_args r{};
  r.q_ptr = a.q, r.k_ptr = a.k, r.v_ptr = a.v, r.o_ptr = a.o, r.lse_ptr = a.lse, r.do_ptr = a.doo;
  r.d_ptr = a.d, r.dq_ptr = a.dq, r.dk_ptr = a.dk, r.dv_ptr = a.dv, r.dq_acc_ptr = a.dq_acc;
  r.seqstart_q_ptr = a.seqstart_q, r.seqstart_k_ptr = a.seqstart_k;
  r.batch = a.batch, r.nhead_q = a.nhead_q, r.nhead_k = a.nhead_k, r.seqlen_q = a.seqlen_q, r.seqlen_k = a.seqlen_k;
  r.max_seqlen_q = a.max_seqlen_q, r.max_seqlen_k = a.max_seqlen_k, r.hdim_q = a.hdim_q, r.hdim_v = a.hdim_v;
  r.scale = a.scale, r.p_undrop = 1;
  r.stride_q = a.stride_q, r.stride_k = a.stride_k, r.stride_v = a.stride_v, r.stride_o = a.stride_o;
  r.stride_do = a.stride_doo, r.stride_dq = a.stride_dq, r.stride_dk = a.stride_dk, r.stride_dv = a.stride_dv;
  r.nhead_stride_q = a.nhead_stride_q, r.nhead_stride_k = a.nhead_stride_k, r.nhead_stride_v = a.nhead_stride_v;
  r.nhead_stride_o = a.nhead_stride_o, r.nhead_stride_do = a.nhead_stride_doo, r.nhead_stride_dq = a.nhead_stride_dq;
  r.nhead_stride_dk = a.nhead_stride_dk, r.nhead_stride_dv = a.nhead_stride_dv;
  r.batch_stride_q = a.batch_stride_q, r.batch_stride_k = a.batch_stride_k, r.batch_stride_v = a.batch_stride_v;
  r.batch_stride_o = a.batch_stride_o, r.batch_stride_do = a.batch_stride_doo, r.batch_stride_dq = a.batch_stride_dq;
  r.batch_stride_dk = a.batch_stride_dk, r.batch_stride_dv = a.batch_stride_dv;
  r.nhead_stride_lsed = a.seqlen_q, r.batch_stride_lsed = a.nhead_q * a.seqlen_q;
  r.stride_dq_acc = a.hdim_q, r.nhead_stride_dq_acc = a.seqlen_q * a.hdim_q;
  r.batch_stride_dq_acc = a.nhead_q * r.nhead_stride_dq_acc;
  r.split_stride_dq_acc = (a.is_group_mode != 0 ? 1 : a.batch) * r.batch_stride_dq_acc;
  r.window_size_left = a.window_left, r.window_size_right = a.window_right, r.mask_type = a.mask_type;
  return r;
}

}  // namespace

SAMPLE_EXPORT int sample_mha_bwd(const SampleBwdArgs* args, char* error, std::size_t error_size) {
  const auto run = [&] {
    fmha_bwd_traits t{};
    t.hdim_q = args->hdim_q, t.hdim_v = args->hdim_v, t.data_type = args->data_type;
    t.is_group_mode = args->is_group_mode != 0, t.is_deterministic = args->is_deterministic != 0;
    t.mask_type = static_cast<mask_enum>(args->mask_type);
    ck_tile::stream_config stream{static_cast<hipStream_t>(args->stream)};
    stream.log_level_ = args->log_level;
    return fmha_bwd(t, arguments_of(*args), stream);
  };
  return sample_call(run, error, error_size);
}
