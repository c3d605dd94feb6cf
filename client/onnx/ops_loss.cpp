// Losses, in models exported with their training criterion.
#include "base/text.h"
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "hearth/ops/loss.h"
#include "hearth/ops/reduce.h"

namespace hearth::onnx {
namespace {

client::LossConfig config_of(NodeContext& node) {
  client::LossConfig config;
  const std::string reduction = node.text("reduction", "mean");
  if (reduction == "none") {
    config.reduction = client::LossReduction::kNone;
  } else if (reduction == "sum") {
    config.reduction = client::LossReduction::kSum;
  } else if (reduction != "mean") {
    reject(str_cat("reduction '", reduction, "' is none of none, sum and mean"));
  }
  if (node.has("ignore_index")) config.ignore_index = node.integer("ignore_index", 0);
  return config;
}

Values nll_loss(NodeContext& node) {
  return {Value(client::nll_loss(node.tensor(0), node.tensor(1), node.tensor_or_empty(2), config_of(node)))};
}

Values cross_entropy(NodeContext& node) {
  const client::Tensor logarithms = client::log_softmax(node.wide(0), 1);
  Values outputs = {
      Value(node.rounded(client::nll_loss(logarithms, node.tensor(1), node.tensor_or_empty(2), config_of(node))))};
  if (node.wants_output(1)) outputs.emplace_back(node.rounded(logarithms));
  return outputs;
}

constexpr OperatorEntry kOperators[] = {{"NegativeLogLikelihoodLoss", nll_loss, 12},
                                        {"SoftmaxCrossEntropyLoss", cross_entropy, 12}};

}  // namespace

std::span<const OperatorEntry> loss_operators() { return kOperators; }

}  // namespace hearth::onnx
