// Activation functions.
#include "client/onnx/operators.h"
#include "client/ops/elementwise.h"
#include "client/ops/reduce.h"

namespace hearth::onnx {
namespace {

using client::Tensor;

template <Tensor (*kRecord)(const Tensor&, client::Loc)>
Values recorded(NodeContext& node) {
  return {Value(kRecord(node.tensor(0), client::Loc::current()))};
}

Values leaky_relu(NodeContext& node) { return {Value(client::leaky_relu(node.tensor(0), node.real("alpha", 0.01)))}; }
Values elu(NodeContext& node) { return {Value(client::elu(node.tensor(0), node.real("alpha", 1.0)))}; }

Values selu(NodeContext& node) {
  const double alpha = node.real("alpha", 1.67326319217681884765625);
  const double gamma = node.real("gamma", 1.05070102214813232421875);
  return {Value(gamma * client::elu(node.tensor(0), alpha))};
}

Values celu(NodeContext& node) {
  const double alpha = node.real("alpha", 1.0);
  const Tensor& x = node.tensor(0);
  return {Value(client::maximum(x, 0) + client::minimum(alpha * (client::exp(x / alpha) - 1), 0))};
}

Values hard_sigmoid(NodeContext& node) {
  return {Value(client::hard_sigmoid(node.tensor(0), node.real("alpha", 0.2), node.real("beta", 0.5)))};
}

Values thresholded_relu(NodeContext& node) {
  const Tensor& x = node.tensor(0);
  return {Value(client::where(client::greater(x, node.real("alpha", 1.0)), x, 0.0))};
}

Values prelu(NodeContext& node) {
  const Tensor& x = node.tensor(0);
  return {Value(client::where(client::less(x, 0), x * node.tensor(1), x))};
}

Values softmax(NodeContext& node) { return {Value(client::softmax(node.tensor(0), node.integer("axis", -1)))}; }
Values log_softmax(NodeContext& node) { return {Value(client::log_softmax(node.tensor(0), node.integer("axis", -1)))}; }

constexpr OperatorEntry kOperators[] = {
    {"Relu", recorded<client::relu>},
    {"Sigmoid", recorded<client::sigmoid>},
    {"Tanh", recorded<client::tanh>},
    {"Softplus", recorded<client::softplus>},
    {"Softsign", recorded<client::softsign>},
    {"HardSwish", recorded<client::hard_swish>, 14},
    {"Mish", recorded<client::mish>, 18},
    {"LeakyRelu", leaky_relu},
    {"Elu", elu},
    {"Selu", selu},
    {"Celu", celu},
    {"HardSigmoid", hard_sigmoid},
    {"ThresholdedRelu", thresholded_relu},
    {"PRelu", prelu},
    {"Softmax", softmax, 13},
    {"LogSoftmax", log_softmax, 13},
};

}  // namespace

std::span<const OperatorEntry> activation_operators() { return kOperators; }

}  // namespace hearth::onnx
