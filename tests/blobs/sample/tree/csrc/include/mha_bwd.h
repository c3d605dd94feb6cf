// The backward library's C interface, for tests; see mha_fwd.h. lse and d are (batch, head, row) without gaps, dq_acc
// is (tile of keys, batch, head, row, column), cleared; num_tiles is 1 unless deterministic.
#pragma once
#include "sample_call.h"

#include <cstdint>

struct SampleBwdArgs {
  const void *q, *k, *v, *o, *lse, *doo;
  void *d, *dq, *dk, *dv, *dq_acc;
  const void *seqstart_q, *seqstart_k;
  void* stream;
  const char* data_type;
  std::int32_t batch, nhead_q, nhead_k, seqlen_q, seqlen_k, max_seqlen_q, max_seqlen_k, hdim_q, hdim_v;
  std::int32_t stride_q, stride_k, stride_v, stride_o, stride_doo, stride_dq, stride_dk, stride_dv;
  std::int32_t nhead_stride_q, nhead_stride_k, nhead_stride_v, nhead_stride_o, nhead_stride_doo, nhead_stride_dq,
      nhead_stride_dk, nhead_stride_dv;
  std::int32_t batch_stride_q, batch_stride_k, batch_stride_v, batch_stride_o, batch_stride_doo, batch_stride_dq,
      batch_stride_dk, batch_stride_dv;
  std::int32_t mask_type, window_left, window_right, is_group_mode, is_deterministic, log_level;
  float scale;
};

SAMPLE_EXPORT int sample_mha_bwd(const SampleBwdArgs* args, char* error, std::size_t error_size);
