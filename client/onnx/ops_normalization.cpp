// Normalisations, in their inference form.
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "client/ops/nn.h"

namespace hearth::onnx {
namespace {

Values layer_normalization(NodeContext& node) {
  node.expect_integer("stash_type", 1);
  const std::int64_t axis = positive_axis(node.integer("axis", -1), node.input(0).rank());
  const double epsilon = node.real("epsilon", 1e-5);
  return {Value(client::layer_norm(node.tensor(0), node.tensor(1), node.tensor_or_empty(2), axis, epsilon))};
}

Values batch_normalization(NodeContext& node) {
  node.expect_integer("training_mode", 0);
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
    {"BatchNormalization", batch_normalization, 9},
    {"InstanceNormalization", instance_normalization},
};

}  // namespace

std::span<const OperatorEntry> normalization_operators() { return kOperators; }

}  // namespace hearth::onnx
