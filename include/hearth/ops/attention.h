// What transformers are made of. Leading axes of q, k and v are the batch's; empty tensors mean "none".
// Errors: JitError.
//
//   Tensor q = rotary_embedding(heads, cos, sin);                             // [B, H, T, D]
//   Tensor y = scaled_dot_product_attention(q, k, v, {.causal = true});       // [B, H, T, Dv]
#pragma once
#include <optional>

#include "hearth/ops/activation.h"
#include "hearth/tensor.h"

#pragma GCC visibility push(default)
namespace hearth::client {

// Rows of `table` [V, E] for integer `indices` [..]: [.., E]. Negative indices count from the end, others are clamped.
Tensor embedding(const Tensor& table, const Tensor& indices, Loc loc = Loc::current());

// Turns pairs of elements of x [.., T, D] by the angles whose cosines and sines are given, [.., T, R/2] with
// broadcasting; elements from R on stay. Pairs are element i with i + R/2, or neighbours where `interleaved`.
Tensor rotary_embedding(const Tensor& x, const Tensor& cos, const Tensor& sin, bool interleaved = false,
                        Loc loc = Loc::current());

struct AttentionConfig {
  // Broadcasts to [.., H, T, S]. bool: whether a query sees a key; a query that sees none gives 0. Floats: added to the
  // scores.
  Tensor mask = {};
  bool causal = false;               // query t sees keys up to past + t
  Dim past = 0;                      // keys before the first query's own
  std::optional<double> scale = {};  // 1 / sqrt(D)
  // Query t sees no key before past + t - left_window, none after past + t + right_window; nothing: no such bound.
  std::optional<std::int64_t> left_window = {};
  std::optional<std::int64_t> right_window = {};
  double softcap = 0;  // scores s become softcap * tanh(s / softcap) before the mask; 0: as they are
};
// softmax(q k^T scale + mask) v: q [.., H, T, D], k [.., K, S, D], v [.., K, S, Dv] -> [.., H, T, Dv] in q's dtype. K
// divides H: each key head serves H / K consecutive query heads. The softmax is computed in f32 or wider.
Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const AttentionConfig& config = {}, Loc loc = Loc::current());

struct FlexAttentionConfig {
  std::optional<double> scale = {};  // 1 / sqrt(D)
  Activation scores = {};            // what becomes of the scores [.., H, T, S], such as -inf where a key is not seen
  Activation weights = {};           // what becomes of the softmax, of the same shape
};
// As scaled_dot_product_attention, with functions of the caller's for scores and weights, which are computed and given in
// f32 (f64 for f64).
Tensor flex_attention(const Tensor& q, const Tensor& k, const Tensor& v, const FlexAttentionConfig& config = {},
                      Loc loc = Loc::current());

}  // namespace hearth::client
#pragma GCC visibility pop
