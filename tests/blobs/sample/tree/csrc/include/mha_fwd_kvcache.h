// The C interface of split attention and of appending to a cache, for tests; see mha_fwd.h. The cache is (batch entry
// or page, head, row, column) by its strides; block_table and cache_batch_idx may be null.
#pragma once
#include "sample_call.h"

#include <cstdint>

struct SampleSplitArgs {
  const void *q, *k, *v;
  void *lse_acc, *o_acc, *lse, *o;  // lse_acc: (batch, head, split, row), o_acc: with columns; float, without gaps
  const void *seqlen_k_of, *block_table, *cache_batch_idx;
  const void *seqstart_q, *seqstart_k;
  void* stream;
  const char* data_type;
  std::int32_t batch, nhead_q, nhead_k, seqlen_q, seqlen_k, max_seqlen_q, hdim_q, hdim_v, num_splits;
  std::int32_t pages_of_batch, page_rows;
  std::int32_t stride_q, stride_k, stride_v, stride_o;
  std::int32_t nhead_stride_q, nhead_stride_k, nhead_stride_v, nhead_stride_o;
  std::int32_t batch_stride_q, batch_stride_k, batch_stride_v, batch_stride_o;
  std::int32_t mask_type, window_left, window_right, is_group_mode, has_lse, log_level;
  float scale;
};

struct SampleAppendArgs {
  void *q, *k, *v;
  const void *knew, *vnew, *seqlen_k_of, *block_table, *cache_batch_idx, *rotary_cos, *rotary_sin;
  void* stream;
  const char* data_type;
  std::int32_t batch, nhead_q, nhead_k, seqlen_q, seqlen_knew, hdim_q, hdim_v, rotary_dim, rope_type, has_mask;
  std::int32_t pages_of_batch, page_rows;
  std::int32_t stride_q, stride_k, stride_v, stride_knew, stride_vnew;
  std::int32_t nhead_stride_q, nhead_stride_k, nhead_stride_v, nhead_stride_knew, nhead_stride_vnew;
  std::int32_t batch_stride_q, batch_stride_k, batch_stride_v, batch_stride_knew, batch_stride_vnew, log_level;
};

SAMPLE_EXPORT int sample_mha_fwd_splitkv(const SampleSplitArgs* args, char* error, std::size_t error_size);
SAMPLE_EXPORT int sample_mha_fwd_appendkv(const SampleAppendArgs* args, char* error, std::size_t error_size);
