#include <catch2/catch.hpp>

#include "tests/conformance/numpy/op_cases.h"

using namespace hearth;
namespace client = hearth::client;
using client::Operand;
using client::Tensor;
using hearth::conformance::numpy::check_family;
using hearth::conformance::numpy::OpCase;
using hearth::conformance::numpy::Tensors;

namespace {

constexpr double kRounding = 1e-6;

OpCase unary(const std::string& name, Tensor (*op)(const Tensor&, client::Loc), double tolerance = 0) {
  return {name, [op](const Tensors& in) { return Tensors{op(in[0], client::Loc::current())}; }, tolerance, tolerance};
}
OpCase binary(const std::string& name, Tensor (*op)(const Operand&, const Operand&), double tolerance = 0) {
  return {name, [op](const Tensors& in) { return Tensors{op(in[0], in[1])}; }, tolerance, tolerance};
}
OpCase with_any_zero_sign(OpCase op, const char* reason) {
  op.any_zero_sign = reason;
  return op;
}
OpCase by(const std::string& name, Tensor (*op)(const Tensor&), double tolerance = kRounding) {
  return {name, [op](const Tensors& in) { return Tensors{op(in[0])}; }, tolerance, tolerance};
}

std::vector<OpCase> activations() {
  return {
      unary("relu", client::relu),
      unary("relu6", client::relu6),
      by(
          "hard_tanh", [](const Tensor& x) { return client::hard_tanh(x); }, 0),
      by("leaky_relu", [](const Tensor& x) { return client::leaky_relu(x, 0.1); }),
      by("elu", [](const Tensor& x) { return client::elu(x, 0.7); }),
      by("celu", [](const Tensor& x) { return client::celu(x, 2); }),
      unary("selu", client::selu, kRounding),
      by("gelu", [](const Tensor& x) { return client::gelu(x); }),
      by("gelu_tanh", [](const Tensor& x) { return client::gelu(x, true); }),
      unary("silu", client::silu, kRounding),
      unary("mish", client::mish, kRounding),
      unary("softplus", client::softplus, kRounding),
      unary("softsign", client::softsign, kRounding),
      by("hard_sigmoid", [](const Tensor& x) { return client::hard_sigmoid(x); }),
      unary("hard_swish", client::hard_swish, kRounding),
      by(
          "thresholded_relu", [](const Tensor& x) { return client::thresholded_relu(x, 0.8); }, 0),
      unary("log_sigmoid", client::log_sigmoid, kRounding),
      by(
          "hard_shrink", [](const Tensor& x) { return client::hard_shrink(x); }, 0),
      by("soft_shrink", [](const Tensor& x) { return client::soft_shrink(x); }),
      unary("tanh_shrink", client::tanh_shrink, kRounding),
      by("glu", [](const Tensor& x) { return client::glu(x); }),
      by("softmin", [](const Tensor& x) { return client::softmin(x); }),
      by(
          "hardmax", [](const Tensor& x) { return client::hardmax(x); }, 0),
      {"prelu", [](const Tensors& in) { return Tensors{client::prelu(in[0], in[1])}; }},
  };
}

std::vector<OpCase> unaries() {
  return {
      unary("neg", client::neg),
      unary("recip", client::recip, kRounding),
      unary("square", client::square, kRounding),
      unary("exp", client::exp, kRounding),
      unary("exp2", client::exp2, kRounding),
      unary("sin", client::sin, kRounding),
      unary("cos", client::cos, kRounding),
      unary("tan", client::tan, kRounding),
      unary("tanh", client::tanh, kRounding),
      unary("erf", client::erf, kRounding),
      unary("sigmoid", client::sigmoid, kRounding),
      unary("abs", client::abs),
      unary("floor", client::floor),
      unary("ceil", client::ceil),
      unary("round", client::round),
      unary("trunc", client::trunc),
      unary("sign", client::sign),
      unary("sqrt", client::sqrt, kRounding),
      unary("rsqrt", client::rsqrt, kRounding),
      unary("log", client::log, kRounding),
      unary("log2", client::log2, kRounding),
      unary("log1p", client::log1p, kRounding),
      unary("is_nan", client::is_nan),
      unary("is_inf", client::is_inf),
      unary("logical_not", client::logical_not),
      unary("bitwise_not", client::bitwise_not),
  };
}

std::vector<OpCase> binaries() {
  return {
      binary("maximum", client::maximum),
      binary("minimum", client::minimum),
      binary("less", client::less),
      binary("less_equal", client::less_equal),
      binary("greater", client::greater),
      binary("greater_equal", client::greater_equal),
      binary("equal", client::equal),
      binary("not_equal", client::not_equal),
      binary("floor_mod_float", client::floor_mod),
      with_any_zero_sign(binary("trunc_mod_float", client::trunc_mod),
                         "it is a - trunc(a/b)*b, so a zero is +0; fmod's has the sign of a"),
      binary("floor_div_float", client::floor_div),
      {"add", [](const Tensors& in) { return Tensors{in[0] + in[1]}; }},
      {"subtract", [](const Tensors& in) { return Tensors{in[0] - in[1]}; }},
      {"multiply", [](const Tensors& in) { return Tensors{in[0] * in[1]}; }},
      {"divide", [](const Tensors& in) { return Tensors{in[0] / in[1]}; }, kRounding},
      binary("floor_div", client::floor_div),
      binary("floor_mod", client::floor_mod),
      binary("trunc_div", client::trunc_div),
      binary("trunc_mod", client::trunc_mod),
      binary("bit_and", client::bit_and),
      binary("bit_or", client::bit_or),
      binary("bit_xor", client::bit_xor),
      binary("shift_left", client::shift_left),
      binary("shift_right", client::shift_right),
      binary("pow", client::pow, 2e-6),
      {"swiglu", [](const Tensors& in) { return Tensors{client::swiglu(in[0], in[1], 1.7)}; }, kRounding, kRounding},
      {"where", [](const Tensors& in) { return Tensors{client::where(in[0], in[1], in[2])}; }},
      {"clip", [](const Tensors& in) { return Tensors{client::clip(in[0], -1.0, 0.5)}; }},
      {"cast", [](const Tensors& in) { return Tensors{client::cast(in[0], DType::kI32)}; }},
      {"bitcast", [](const Tensors& in) { return Tensors{client::bitcast(in[0], DType::kI32)}; }},
      {"contiguous", [](const Tensors& in) { return Tensors{client::contiguous(client::transpose(in[0]))}; }},
  };
}

}  // namespace

TEST_CASE("elementwise ops and activations give numpy's results") {
  std::vector<OpCase> all = activations();
  for (const auto& family : {unaries(), binaries()}) all.insert(all.end(), family.begin(), family.end());
  check_family("elementwise", all);
}
