// Quantised values and products of them.
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "client/onnx/windows.h"
#include "client/ops/elementwise.h"
#include "client/ops/movement.h"
#include "client/ops/quantize.h"
#include "runtime/text.h"

namespace hearth::onnx {
namespace {

using client::Tensor;

constexpr int kQuantizationAxis = 13;  // first opset; one scale a tensor before

std::int64_t quantization_axis(NodeContext& node) {
  if (node.opset() >= kQuantizationAxis) return node.integer("axis", 1);
  if (count(node.input(1).shape()) != 1) reject("more than one scale; opsets before 13 have one a tensor");
  return 0;
}

Values quantize_linear(NodeContext& node) {
  client::QuantizeConfig config;
  config.axis = quantization_axis(node);
  config.saturate = node.opset() < 19 || node.integer("saturate", 1) != 0;
  return {Value(client::quantize_linear(node.tensor(0), node.tensor(1), node.tensor_or_empty(2), config))};
}

Values dequantize_linear(NodeContext& node) {
  const std::int64_t axis = quantization_axis(node);
  return {Value(client::dequantize_linear(node.tensor(0), node.tensor(1), node.tensor_or_empty(2), axis))};
}

Values dynamic_quantize_linear(NodeContext& node) {
  const client::Quantized result = client::dynamic_quantize_linear(node.tensor(0));
  return {Value(result.values), Value(result.scale), Value(result.zero_point)};
}

Values matmul_integer(NodeContext& node) {
  return {
      Value(client::matmul_integer(node.tensor(0), node.tensor(1), node.tensor_or_empty(2), node.tensor_or_empty(3)))};
}

Values conv_integer(NodeContext& node) {
  return {Value(client::conv_integer(node.tensor(0), node.tensor(1), node.tensor_or_empty(2), node.tensor_or_empty(3),
                                     read_conv(node, 1)))};
}

// The sum of products in i32, a real number by its scales, quantised again.
Tensor requantized(const NodeContext& node, const Tensor& sum, const Tensor& scales) {
  return client::quantize_linear(client::cast(sum, DType::kF32) * scales, node.tensor(6), node.tensor(7));
}

// One number, or one an axis of [.., m, n] (of a's rows or b's columns), ready to broadcast against the product.
Tensor product_scale(const Value& scale, bool rows) {
  const Ints shape = scale.shape();
  if (count(shape) == 1) return client::reshape(scale.tensor(), {});
  return rows && shape.size() == 1 ? client::unsqueeze(scale.tensor(), {1}) : scale.tensor();
}

Values qlinear_matmul(NodeContext& node) {
  const Tensor sum = client::matmul_integer(node.tensor(0), node.tensor(3), node.tensor(2), node.tensor(5));
  const Tensor scales = product_scale(node.input(1), true) * product_scale(node.input(4), false);
  return {Value(requantized(node, sum, scales))};
}

Values qlinear_conv(NodeContext& node) {
  const Tensor bias = node.tensor_or_empty(8);
  Tensor sum = client::conv_integer(node.tensor(0), node.tensor(3), node.tensor(2), node.tensor(5), read_conv(node, 3));
  const auto channels = [&](const Tensor& vector) {
    client::Shape shape(sum.shape().size(), client::Dim(1));
    shape[1] = sum.dim(1);
    return client::reshape(vector, shape);
  };
  if (count(node.input(1).shape()) != 1) reject("x_scale must be one number");
  if (!bias.empty()) sum = sum + channels(bias);
  const Tensor weight_scale =
      count(node.input(4).shape()) == 1 ? client::reshape(node.tensor(4), {}) : channels(node.tensor(4));
  return {Value(requantized(node, sum, client::reshape(node.tensor(1), {}) * weight_scale))};
}

constexpr OperatorEntry kOperators[] = {
    {"QuantizeLinear", quantize_linear, 10},
    {"DequantizeLinear", dequantize_linear, 10},
    {"DynamicQuantizeLinear", dynamic_quantize_linear, 11},
    {"MatMulInteger", matmul_integer, 10},
    {"ConvInteger", conv_integer, 10},
    {"QLinearMatMul", qlinear_matmul, 10},
    {"QLinearConv", qlinear_conv, 10},
};

}  // namespace

std::span<const OperatorEntry> quantization_operators() { return kOperators; }

}  // namespace hearth::onnx
