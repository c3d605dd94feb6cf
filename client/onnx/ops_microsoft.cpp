// Operators of the domain com.microsoft that ONNX Runtime's transformer optimiser and exporters write: activations,
// normalisations and products. (Attention: ops_microsoft_attention.cpp.)
#include "base/text.h"
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "hearth/ops/activation.h"
#include "hearth/ops/attention.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/linear.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/nn.h"
#include "hearth/ops/reduce.h"

namespace hearth::onnx {
namespace {

using client::Tensor;

Values gelu(NodeContext& node) { return {Value(client::gelu(node.tensor(0)))}; }

Tensor plus_if_given(NodeContext& node, const Tensor& x, std::size_t input) {
  return node.has_input(input) ? x + node.wide(input) : x;
}

Values fast_gelu(NodeContext& node) {
  return {Value(node.rounded(client::gelu(plus_if_given(node, node.wide(0), 1), /*tanh_approximation=*/true)))};
}

Values bias_gelu(NodeContext& node) { return {Value(node.rounded(client::gelu(node.wide(0) + node.wide(1))))}; }

Values quick_gelu(NodeContext& node) {
  const Tensor x = node.wide(0);
  return {Value(node.rounded(x * client::sigmoid(node.real("alpha", 1.702) * x)))};
}

// Mean and deviation, which only training reads.
void expect_no_statistics(const NodeContext& node, std::size_t first, std::size_t last) {
  for (std::size_t i = first; i <= last; ++i) {
    if (node.wants_output(i)) reject_unsupported(str_cat("output ", i, " (statistics for training)"));
  }
}

// Rows of the last axis of input + skip (+ bias), and that sum as output 3.
Values skip_layer_normalization(NodeContext& node) {
  expect_no_statistics(node, 1, 2);
  const double epsilon = node.real("epsilon", 1e-12);
  const Tensor sum = plus_if_given(node, node.wide(0) + node.wide(1), 4);
  const Tensor y = client::layer_norm(sum, node.tensor(2), node.tensor_or_empty(3), -1, epsilon);
  return {Value(node.rounded(y)), Value(), Value(), Value(node.rounded(sum))};
}

Values skip_simplified_layer_normalization(NodeContext& node) {
  expect_no_statistics(node, 1, 2);
  const double epsilon = node.real("epsilon", 1e-12);
  const Tensor sum = plus_if_given(node, node.wide(0) + node.wide(1), 3);
  const Tensor y = client::rms_norm(sum, node.tensor(2), -1, epsilon);
  return {Value(node.rounded(y)), Value(), Value(), Value(node.rounded(sum))};
}

// Word, position and segment embeddings added and normalised; how many positions of each item the mask lets pass.
Values embed_layer_normalization(NodeContext& node) {
  node.integer("mask_index_type", 0);
  const double epsilon = node.real("epsilon", 1e-12);
  const Tensor& ids = node.tensor(0);
  if (ids.rank() != 2) reject("input_ids must be [batch, sequence]");
  Tensor positions = node.has_input(8) ? node.tensor(8) : client::arange(ids.dim(1), DType::kI32);
  Tensor sum = widened(client::embedding(node.tensor(2), ids)) + widened(client::embedding(node.tensor(3), positions));
  if (node.has_input(1)) sum = sum + widened(client::embedding(node.tensor(4), node.tensor(1)));
  const Tensor y = client::layer_norm(sum, node.tensor(5), node.tensor(6), -1, epsilon);
  Tensor passing = client::full_i64({ids.dim(0)}, 0, DType::kI32);
  if (node.has_input(7)) {
    passing = client::reduce_sum(client::cast(client::equal(node.tensor(7), 1), DType::kI32), {1});
  }
  return {Value(node.rounded(y, 2)), Value(passing), Value(node.rounded(sum, 2))};
}

Values fused_matmul(NodeContext& node) {
  node.expect_integer("transBatchA", 0);
  node.expect_integer("transBatchB", 0);
  const double alpha = node.real("alpha", 1.0);
  // A vector has nothing to transpose.
  const auto operand = [&](std::size_t input, std::string_view transposes) {
    const bool turned = node.integer(transposes, 0) != 0 && node.input(input).rank() > 1;
    return widened(turned ? client::transpose(node.tensor(input)) : node.tensor(input));
  };
  const Tensor y = client::matmul(operand(0, "transA"), operand(1, "transB"));
  return {Value(node.rounded(alpha == 1.0 ? y : y * alpha))};
}

constexpr OperatorEntry kOperators[] = {
    {"Gelu", gelu},
    {"FastGelu", fast_gelu},
    {"BiasGelu", bias_gelu},
    {"QuickGelu", quick_gelu},
    {"SkipLayerNormalization", skip_layer_normalization},
    {"SkipSimplifiedLayerNormalization", skip_simplified_layer_normalization},
    {"SimplifiedLayerNormalization", simplified_layer_normalization},
    {"EmbedLayerNormalization", embed_layer_normalization},
    {"FusedMatMul", fused_matmul},
};

}  // namespace

std::span<const OperatorEntry> microsoft_operators() { return kOperators; }

}  // namespace hearth::onnx
