#include <catch2/catch.hpp>

#include "tests/conformance/numpy/op_cases.h"

using namespace hearth;
using namespace hearth::client;
using hearth::conformance::numpy::check_family;
using hearth::conformance::numpy::OpCase;
using hearth::conformance::numpy::Tensors;

namespace {

OpCase attention(const std::string& name, const std::function<AttentionConfig(const Tensors&)>& config) {
  return {
      name,
      [config](const Tensors& in) { return Tensors{scaled_dot_product_attention(in[0], in[1], in[2], config(in))}; },
      1e-5, 1e-6};
}

OpCase linear(const std::string& name, bool is_gated, bool is_delta) {
  const auto record = [=](const Tensors& in) {
    LinearAttentionConfig config{.past = in[3]};
    if (is_gated) config.decay = in[4];
    if (is_delta) config.beta = in[is_gated ? 5 : 4];
    const LinearAttentionResult made = linear_attention(in[0], in[1], in[2], config);
    return Tensors{made.y, made.state};
  };
  return {name, record, 1e-5, 2e-6};
}

}  // namespace

TEST_CASE("attention gives numpy's results") {
  check_family(
      "attention",
      {
          {"embedding", [](const Tensors& in) { return Tensors{embedding(in[0], in[1])}; }},
          {"rotary", [](const Tensors& in) { return Tensors{rotary_embedding(in[0], in[1], in[2])}; }, 1e-5, 1e-6},
          {"rotary_interleaved", [](const Tensors& in) { return Tensors{rotary_embedding(in[0], in[1], in[2], true)}; },
           1e-5, 1e-6},
          attention("attention", [](const Tensors&) { return AttentionConfig{}; }),
          attention("attention_bias", [](const Tensors& in) { return AttentionConfig{.mask = in[3], .scale = 0.3}; }),
          attention("attention_mask", [](const Tensors& in) { return AttentionConfig{.mask = in[3]}; }),
          attention("attention_causal", [](const Tensors&) { return AttentionConfig{.causal = true, .past = 3}; }),
          attention("attention_groups", [](const Tensors&) { return AttentionConfig{}; }),
          attention("window_left", [](const Tensors&) { return AttentionConfig{.past = 2, .left_window = 1}; }),
          attention("window_right", [](const Tensors&) { return AttentionConfig{.past = 2, .right_window = 1}; }),
          attention("window_both",
                    [](const Tensors&) { return AttentionConfig{.past = 2, .left_window = 0, .right_window = 1}; }),
          attention("window_causal_bias",
                    [](const Tensors& in) {
                      return AttentionConfig{.mask = in[3], .causal = true, .past = 2, .left_window = 1};
                    }),
          {"flex",
           [](const Tensors& in) {
             const auto scores = [&](const Tensor& x) { return x - in[3]; };
             const auto weights = [](const Tensor& x) {
               return x * cast(floor_mod(arange(x.dim(-1), DType::kI64), 2), DType::kF32);
             };
             return Tensors{flex_attention(in[0], in[1], in[2], {.scale = 0.4, .scores = scores, .weights = weights})};
           },
           1e-5, 1e-6},
          linear("linear_attention_linear", false, false),
          linear("linear_attention_gated", true, false),
          linear("linear_attention_delta", false, true),
          linear("linear_attention_gated_delta", true, true),
          {"linear_attention_one_step",
           [](const Tensors& in) {
             const LinearAttentionResult made = linear_attention(in[0], in[1], in[2], {.scale = 0.7});
             return Tensors{made.y, made.state};
           },
           1e-5, 1e-6},
          {"causal_conv",
           [](const Tensors& in) {
             const CausalConvResult made = causal_conv(in[0], in[1], in[2], in[3]);
             return Tensors{made.y, made.state};
           },
           1e-5, 1e-6},
          {"causal_conv_plain",
           [](const Tensors& in) {
             const CausalConvResult made = causal_conv(in[0], in[1]);
             return Tensors{made.y, made.state};
           },
           1e-5, 1e-6},
      });
}
