// Normalisations, in their inference form.
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "client/ops/elementwise.h"
#include "client/ops/nn.h"
#include "client/ops/reduce.h"

namespace hearth::onnx {
namespace {

Values layer_normalization(NodeContext& node) {
  node.expect_integer("stash_type", 1);
  const std::int64_t axis = positive_axis(node.integer("axis", -1), node.input(0).rank());
  const double epsilon = node.real("epsilon", 1e-5);
  const client::Tensor& x = node.tensor(0);
  Values outputs = {Value(client::layer_norm(x, node.tensor(1), node.tensor_or_empty(2), axis, epsilon))};
  client::Axes axes;
  for (std::int64_t i = axis; i < x.rank(); ++i) axes.push_back(i);
  if (node.num_outputs() > 1) outputs.emplace_back(client::mean(x, axes, true));
  if (node.num_outputs() > 2) outputs.emplace_back(client::rsqrt(client::variance(x, axes, true) + epsilon));
  return outputs;
}

Values batch_normalization(NodeContext& node) {
  node.expect_integer("training_mode", 0);
  if (node.opset() < 9) node.expect_integer("spatial", 1);
  if (node.opset() < 7 && node.integer("is_test", 0) == 0) reject_unsupported("training (is_test = 0)");
  for (std::size_t i = 1; i < node.num_outputs(); ++i) {
    if (node.wants_output(i)) reject_unsupported("training (more than one output)");
  }
  node.real("momentum", 0.9);
  const double epsilon = node.real("epsilon", 1e-5);
  return {Value(
      client::batch_norm(node.tensor(0), node.tensor(1), node.tensor(2), node.tensor(3), node.tensor(4), epsilon))};
}

Values instance_normalization(NodeContext& node) {
  const double epsilon = node.real("epsilon", 1e-5);
  return {Value(client::instance_norm(node.tensor(0), node.tensor(1), node.tensor(2), epsilon))};
}

constexpr OperatorEntry kOperators[] = {
    {"LayerNormalization", layer_normalization, 17},
    {"BatchNormalization", batch_normalization, 6},
    {"InstanceNormalization", instance_normalization, 6},
};

}  // namespace

std::span<const OperatorEntry> normalization_operators() { return kOperators; }

}  // namespace hearth::onnx
