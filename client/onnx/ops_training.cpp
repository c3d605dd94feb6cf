// Optimiser steps of ai.onnx.preview.training: for n tensors the inputs are the learning rate, the number of steps
// done, then n values each of the tensor, its gradient and every state; the results are the new tensors and states.
#include "base/text.h"
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "hearth/ops/elementwise.h"

namespace hearth::onnx {
namespace {

using client::Tensor;

// Input `part` (0: tensor, 1: gradient, 2…: states) of each of the tensors, as many as `parts` parts allow.
struct Operands {
  NodeContext& node;
  std::size_t parts;
  std::size_t count() const {
    const std::size_t values = node.num_inputs() - 2;
    if (node.num_inputs() < 2 + parts || values % parts != 0) {
      reject(str_cat("has ", node.num_inputs(), " inputs; expected 2 and a multiple of ", parts));
    }
    return values / parts;
  }
  Tensor get(std::size_t part, std::size_t i) const { return node.wide(2 + part * count() + i); }
};

// Results part by part, as the inputs are, in the tensors' type.
Values in_order(const NodeContext& node, const std::vector<std::vector<Tensor>>& parts) {
  Values values;
  for (const auto& part : parts) {
    for (const Tensor& tensor : part) values.emplace_back(node.rounded(tensor, 2));
  }
  return values;
}

Tensor rate_of(NodeContext& node) { return node.wide(0); }
Tensor steps_of(NodeContext& node) { return client::cast(node.tensor(1), node.wide(0).dtype()); }

Values adagrad(NodeContext& node) {
  const double decay = node.real("decay_factor", 0), epsilon = node.real("epsilon", 1e-6);
  const double norm = node.real("norm_coefficient", 0);
  const Operands given{node, 3};
  const Tensor rate = rate_of(node) / (steps_of(node) * decay + 1.0);
  std::vector<std::vector<Tensor>> results(2);
  for (std::size_t i = 0; i < given.count(); ++i) {
    const Tensor gradient = given.get(0, i) * norm + given.get(1, i);
    const Tensor squares = given.get(2, i) + client::square(gradient);
    results[0].push_back(given.get(0, i) - rate * gradient / (client::sqrt(squares) + epsilon));
    results[1].push_back(squares);
  }
  return in_order(node, results);
}

Values adam(NodeContext& node) {
  const double alpha = node.real("alpha", 0.9), beta = node.real("beta", 0.999), epsilon = node.real("epsilon", 1e-6);
  const double norm = node.real("norm_coefficient", 0), norm_after = node.real("norm_coefficient_post", 0);
  const Operands given{node, 4};
  const Tensor steps = steps_of(node);
  const Tensor correction = client::sqrt(1.0 - client::pow(beta, steps)) / (1.0 - client::pow(alpha, steps));
  const Tensor rate = client::where(client::greater(steps, 0), rate_of(node) * correction, rate_of(node));
  std::vector<std::vector<Tensor>> results(3);
  for (std::size_t i = 0; i < given.count(); ++i) {
    const Tensor gradient = given.get(0, i) * norm + given.get(1, i);
    const Tensor velocity = given.get(2, i) * alpha + gradient * (1 - alpha);
    const Tensor squares = given.get(3, i) * beta + client::square(gradient) * (1 - beta);
    const Tensor next = given.get(0, i) - rate * velocity / (client::sqrt(squares) + epsilon);
    results[0].push_back(next * (1 - norm_after));
    results[1].push_back(velocity);
    results[2].push_back(squares);
  }
  return in_order(node, results);
}

Values momentum(NodeContext& node) {
  const double alpha = node.real("alpha", 0), beta = node.real("beta", 0), norm = node.real("norm_coefficient", 0);
  const std::string mode = node.text("mode", "");
  if (mode != "standard" && mode != "nesterov") reject(str_cat("attribute mode = '", mode, "'"));
  const Operands given{node, 3};
  // The first step takes the whole gradient.
  const Tensor share =
      client::where(client::greater(node.tensor(1), 0), client::scalar(beta, rate_of(node).dtype()), 1.0);
  std::vector<std::vector<Tensor>> results(2);
  for (std::size_t i = 0; i < given.count(); ++i) {
    const Tensor gradient = given.get(0, i) * norm + given.get(1, i);
    const Tensor velocity = given.get(2, i) * alpha + share * gradient;
    const Tensor direction = mode == "standard" ? velocity : gradient + velocity * alpha;
    results[0].push_back(given.get(0, i) - rate_of(node) * direction);
    results[1].push_back(velocity);
  }
  return in_order(node, results);
}

constexpr OperatorEntry kOperators[] = {
    {"Adagrad", adagrad},
    {"Adam", adam},
    {"Momentum", momentum},
};

}  // namespace

std::span<const OperatorEntry> training_operators() { return kOperators; }

}  // namespace hearth::onnx
