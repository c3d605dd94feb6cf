// Attention whose memory of what was is a matrix a head, instead of all keys and values: linear attention, gated (GLA,
// RetNet, RWKV-6), by the delta rule (DeltaNet) and both (Gated DeltaNet), and the causal convolution that stands before
// it and before Mamba's scan. Meaning: ONNX's LinearAttention and CausalConvWithState. Empty tensors mean "none".
// Computed in f32 (f64 for f64). Errors: JitError.
//
//   CausalConvResult c = causal_conv(x, w, b, past);                     // x [N, C, T], past [N, C, k - 1]
//   LinearAttentionResult a = linear_attention(q, k, v, {.past = state, .decay = g, .beta = beta});
#pragma once
#include <optional>

#include "hearth/tensor.h"

#pragma GCC visibility push(default)
namespace hearth::client {

struct LinearAttentionConfig {
  Tensor past = {};                  // [N, K, D, Dv], the state before the first step; zeros
  Tensor decay = {};                 // [N, K, T, D] or [N, K, T, 1]: the state is multiplied by exp(decay) first
  Tensor beta = {};                  // [N, K, T, 1] or [N, 1, T, 1]: the delta rule, v becomes beta (v - k state)
  std::optional<double> scale = {};  // of q; 1 / sqrt(D)
};
struct LinearAttentionResult {
  Tensor y;
  Tensor state;  // after the last step, in the dtype of `past`, or of q
};
// Step by step, state = decayed state + k^T v, y = scale q state: q [N, H, T, D], k [N, K, T, D], v [N, K, T, Dv] ->
// [N, H, T, Dv] in q's dtype, T at least 1. K divides H: each state serves H / K consecutive query heads.
LinearAttentionResult linear_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                       const LinearAttentionConfig& config = {}, Loc loc = Loc::current());

struct CausalConvResult {
  Tensor y;
  Tensor state;  // [N, C, k - 1]: the last elements of what was convolved, the next call's `past`
};
// Each channel of x [N, C, T] with its own window w [C, 1, k] over itself and the k - 1 elements before, which begin
// with `past` [N, C, k - 1] (zeros): [N, C, T]. `bias` is [C].
CausalConvResult causal_conv(const Tensor& x, const Tensor& w, const Tensor& bias = {}, const Tensor& past = {},
                             Loc loc = Loc::current());

}  // namespace hearth::client
#pragma GCC visibility pop
