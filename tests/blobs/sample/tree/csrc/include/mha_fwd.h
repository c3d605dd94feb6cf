// The forward library's C interface, for tests: plain structs, element strides, data_type "fp16" or "bf16".
// mask_type: 0 none, 1 from the top left, 2 from the bottom right, 3 window (from the bottom right).
#pragma once
#include "sample_call.h"

#include <cstdint>

struct SampleFwdArgs {
  const void *q, *k, *v, *bias;
  void *lse, *o;
  const void *seqstart_q, *seqstart_k, *seqlen_k_of;
  void* stream;
  const char* data_type;
  std::int32_t batch, nhead_q, nhead_k, seqlen_q, seqlen_k, max_seqlen_q, hdim_q, hdim_v;
  std::int32_t stride_q, stride_k, stride_v, stride_bias, stride_o;
  std::int32_t nhead_stride_q, nhead_stride_k, nhead_stride_v, nhead_stride_bias, nhead_stride_lse, nhead_stride_o;
  std::int32_t batch_stride_q, batch_stride_k, batch_stride_v, batch_stride_bias, batch_stride_lse, batch_stride_o;
  std::int32_t mask_type, window_left, window_right, bias_type;
  std::int32_t is_group_mode, is_v_rowmajor, has_lse, has_logits_soft_cap, log_level;
  float scale, logits_soft_cap;
};

SAMPLE_EXPORT int sample_mha_fwd(const SampleFwdArgs* args, char* error, std::size_t error_size);
