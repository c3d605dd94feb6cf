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
      });
}
