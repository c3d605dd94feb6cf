// The host side of appending to a cache of keys and values.
#include "fmha_fwd.hpp"
#include "mha_fwd_kvcache.h"

namespace {

fmha_fwd_appendkv_args arguments_of(const SampleAppendArgs& a) {
  fmha_fwd_appendkv_args r{};
  r.q_ptr = a.q, r.k_ptr = a.k, r.v_ptr = a.v, r.knew_ptr = a.knew, r.vnew_ptr = a.vnew;
  r.seqlen_k_ptr = a.seqlen_k_of, r.block_table_ptr = const_cast<void*>(a.block_table);
  r.cache_batch_idx = a.cache_batch_idx, r.batch_stride_block_table = a.pages_of_batch, r.page_block_size = a.page_rows;
  r.rotary_cos_ptr = a.rotary_cos, r.rotary_sin_ptr = a.rotary_sin, r.rotary_dim = a.rotary_dim;
  r.has_mask = a.has_mask != 0, r.seqlen_q = a.seqlen_q, r.seqlen_knew = a.seqlen_knew;
  r.batch = a.batch, r.nhead_q = a.nhead_q, r.nhead_k = a.nhead_k, r.hdim_q = a.hdim_q, r.hdim_v = a.hdim_v;
  r.stride_q = a.stride_q, r.stride_k = a.stride_k, r.stride_v = a.stride_v;
  r.stride_knew = a.stride_knew, r.stride_vnew = a.stride_vnew;
  r.nhead_stride_q = a.nhead_stride_q, r.nhead_stride_k = a.nhead_stride_k, r.nhead_stride_v = a.nhead_stride_v;
  r.nhead_stride_knew = a.nhead_stride_knew, r.nhead_stride_vnew = a.nhead_stride_vnew;
  r.batch_stride_q = a.batch_stride_q, r.batch_stride_k = a.batch_stride_k, r.batch_stride_v = a.batch_stride_v;
  r.batch_stride_knew = a.batch_stride_knew, r.batch_stride_vnew = a.batch_stride_vnew;
  return r;
}

}  // namespace

SAMPLE_EXPORT int sample_mha_fwd_appendkv(const SampleAppendArgs* args, char* error, std::size_t error_size) {
  const auto run = [&] {
    fmha_fwd_appendkv_traits t{};
    t.hdim_q = args->hdim_q, t.hdim_v = args->hdim_v, t.data_type = args->data_type, t.is_v_rowmajor = true;
    t.rope_type = static_cast<rope_enum>(args->rope_type);
    ck_tile::stream_config stream{static_cast<hipStream_t>(args->stream)};
    stream.log_level_ = args->log_level;
    return fmha_fwd_appendkv(t, arguments_of(*args), stream);
  };
  return sample_call(run, error, error_size);
}
