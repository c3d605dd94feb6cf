// The host side of attention split over the keys.
#include "fmha_fwd.hpp"
#include "mha_fwd_kvcache.h"

namespace {

fmha_fwd_splitkv_args arguments_of(const SampleSplitArgs& a) {
  fmha_fwd_splitkv_args r{};
  r.q_ptr = a.q, r.k_ptr = a.k, r.v_ptr = a.v;
  r.lse_acc_ptr = a.lse_acc, r.o_acc_ptr = a.o_acc, r.lse_ptr = a.lse, r.o_ptr = a.o;
  r.block_table_ptr = const_cast<void*>(a.block_table), r.cache_batch_idx = a.cache_batch_idx;
  r.batch_stride_block_table = a.pages_of_batch, r.page_block_size = a.page_rows;
  r.seqstart_q_ptr = a.seqstart_q, r.seqstart_k_ptr = a.seqstart_k, r.seqlen_k_ptr = a.seqlen_k_of;
  r.batch = a.batch, r.nhead_q = a.nhead_q, r.nhead_k = a.nhead_k, r.num_splits = a.num_splits;
  r.seqlen_q = a.seqlen_q, r.seqlen_k = a.seqlen_k, r.max_seqlen_q = a.max_seqlen_q;
  r.hdim_q = a.hdim_q, r.hdim_v = a.hdim_v, r.scale_s = a.scale, r.scale_p = 1, r.scale_o = 1;
  r.stride_q = a.stride_q, r.stride_k = a.stride_k, r.stride_v = a.stride_v, r.stride_o = a.stride_o;
  r.nhead_stride_q = a.nhead_stride_q, r.nhead_stride_k = a.nhead_stride_k, r.nhead_stride_v = a.nhead_stride_v;
  r.nhead_stride_o = a.nhead_stride_o;
  r.batch_stride_q = a.batch_stride_q, r.batch_stride_k = a.batch_stride_k, r.batch_stride_v = a.batch_stride_v;
  r.batch_stride_o = a.batch_stride_o;
  const int rows = a.seqlen_q;  // of all sequences of a group
  r.stride_o_acc = a.hdim_v, r.split_stride_o_acc = rows * a.hdim_v, r.split_stride_lse_acc = rows;
  r.nhead_stride_o_acc = a.num_splits * r.split_stride_o_acc, r.nhead_stride_lse_acc = a.num_splits * rows;
  r.batch_stride_o_acc = a.nhead_q * r.nhead_stride_o_acc, r.batch_stride_lse_acc = a.nhead_q * r.nhead_stride_lse_acc;
  r.nhead_stride_lse = rows, r.batch_stride_lse = a.nhead_q * rows;
  r.window_size_left = a.window_left, r.window_size_right = a.window_right, r.mask_type = a.mask_type;
  return r;
}

}  // namespace

SAMPLE_EXPORT int sample_mha_fwd_splitkv(const SampleSplitArgs* args, char* error, std::size_t error_size) {
  const auto run = [&] {
    fmha_fwd_splitkv_traits t{};
    t.hdim_q = args->hdim_q, t.hdim_v = args->hdim_v, t.data_type = args->data_type;
    t.is_group_mode = args->is_group_mode != 0, t.is_v_rowmajor = true, t.has_lse = args->has_lse != 0;
    t.mask_type = static_cast<mask_enum>(args->mask_type);
    ck_tile::stream_config stream{static_cast<hipStream_t>(args->stream)};
    stream.log_level_ = args->log_level;
    return fmha_fwd_splitkv(t, arguments_of(*args), stream);
  };
  return sample_call(run, error, error_size);
}
