// Normalisations, in their inference form.
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "client/ops/elementwise.h"
#include "client/ops/nn.h"
#include "client/ops/reduce.h"
#include "runtime/text.h"

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

// By the statistics of the batch itself; gives the running ones too.
Values batch_normalization_in_training(NodeContext& node, double epsilon, double momentum) {
  const client::Tensor& x = node.tensor(0);
  client::Axes axes;
  for (std::int64_t i = 0; i < x.rank(); ++i) {
    if (i != 1) axes.push_back(i);
  }
  const client::Tensor mean = client::mean(x, axes), variance = client::variance(x, axes);
  const auto running = [&](std::size_t input, const client::Tensor& own) {
    const client::Tensor next = node.tensor(input) * momentum + own * (1.0 - momentum);
    return Value(client::cast(next, node.input(input).dtype()));
  };
  return {Value(client::batch_norm(x, node.tensor(1), node.tensor(2), mean, variance, epsilon)), running(3, mean),
          running(4, variance)};
}

// Before opset 9, spatial = 0: every position of an item has statistics of its own.
Values normalization_by_position(NodeContext& node, double epsilon) {
  const Ints x = node.input(0).shape();
  const Ints item(x.begin() + std::min<std::ptrdiff_t>(1, std::ssize(x)), x.end());
  for (std::size_t i = 1; i < 5; ++i) {
    if (node.input(i).shape() == item) continue;
    reject(str_cat("input ", i, " has shape ", to_string(node.input(i).shape()), " but needs ", to_string(item)));
  }
  const client::Tensor normal = (node.tensor(0) - node.tensor(3)) / client::sqrt(node.tensor(4) + epsilon);
  return {Value(normal * node.tensor(1) + node.tensor(2))};
}

Values batch_normalization(NodeContext& node) {
  const bool by_position = node.opset() < 9 && node.integer("spatial", 1) == 0;
  if (node.opset() < 7 && node.integer("is_test", 0) == 0) reject_unsupported("training (is_test = 0)");
  const double momentum = node.real("momentum", 0.9);
  const double epsilon = node.real("epsilon", 1e-5);
  if (node.opset() >= 14 && node.integer("training_mode", 0) != 0) {
    return batch_normalization_in_training(node, epsilon, momentum);
  }
  for (std::size_t i = 1; i < node.num_outputs(); ++i) {
    if (node.wants_output(i)) reject_unsupported("training (more than one output)");
  }
  if (by_position) return normalization_by_position(node, epsilon);
  return {Value(
      client::batch_norm(node.tensor(0), node.tensor(1), node.tensor(2), node.tensor(3), node.tensor(4), epsilon))};
}

Values instance_normalization(NodeContext& node) {
  const double epsilon = node.real("epsilon", 1e-5);
  return {Value(client::instance_norm(node.tensor(0), node.tensor(1), node.tensor(2), epsilon))};
}

}  // namespace

Values simplified_layer_normalization(NodeContext& node) {
  node.expect_integer("stash_type", 1);
  const std::int64_t axis = positive_axis(node.integer("axis", -1), node.input(0).rank());
  const double epsilon = node.real("epsilon", 1e-5);
  if (node.wants_output(1)) reject_unsupported("output 1 (statistics for training)");
  return {Value(client::rms_norm(node.tensor(0), node.tensor(1), axis, epsilon))};
}

namespace {

constexpr OperatorEntry kOperators[] = {
    // ONNX Runtime's optimiser writes it without a domain.
    {"SimplifiedLayerNormalization", simplified_layer_normalization},
    {"LayerNormalization", layer_normalization, 17},
    {"BatchNormalization", batch_normalization},
    {"InstanceNormalization", instance_normalization},
};

}  // namespace

std::span<const OperatorEntry> normalization_operators() { return kOperators; }

}  // namespace hearth::onnx
