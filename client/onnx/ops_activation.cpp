// Activation functions.
#include "client/onnx/host_math.h"
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "hearth/ops/activation.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/reduce.h"

namespace hearth::onnx {
namespace {

using client::Tensor;

template <Tensor (*kRecord)(const Tensor&, client::Loc)>
Values recorded(NodeContext& node) {
  return {Value(kRecord(node.tensor(0), client::Loc::current()))};
}

// Folded where it is known: ONNX's own definition of Range counts its elements with it.
Values relu(NodeContext& node) {
  const Value& x = node.input(0);
  if (!x.is_host() || !can_fold(x.host()) || x.dtype() == DType::kU64) return {Value(client::relu(x.tensor()))};
  return {node.made(host_binary(HostBinary::kMax, x.host(), host_cast(HostTensor::of_i64({}, {0}), x.dtype())))};
}

Values leaky_relu(NodeContext& node) { return {Value(client::leaky_relu(node.tensor(0), node.real("alpha", 0.01)))}; }
Values elu(NodeContext& node) { return {Value(client::elu(node.tensor(0), node.real("alpha", 1.0)))}; }

Values selu(NodeContext& node) {
  const bool rounded = node.opset() < 6;
  const double alpha = node.real("alpha", rounded ? 1.6732 : 1.67326319217681884765625);
  const double gamma = node.real("gamma", rounded ? 1.0507 : 1.05070102214813232421875);
  return {Value(node.rounded(gamma * client::elu(node.wide(0), alpha)))};
}

Values celu(NodeContext& node) { return {Value(client::celu(node.tensor(0), node.real("alpha", 1.0)))}; }

Values hard_sigmoid(NodeContext& node) {
  return {Value(client::hard_sigmoid(node.tensor(0), node.real("alpha", 0.2), node.real("beta", 0.5)))};
}

Values thresholded_relu(NodeContext& node) {
  return {Value(client::thresholded_relu(node.tensor(0), node.real("alpha", 1.0)))};
}

Values prelu(NodeContext& node) {
  const Tensor& x = node.tensor(0);
  Tensor slope = node.tensor(1);
  if (node.opset() < 7 && node.input(1).rank() == 1 && x.rank() > 1) {  // one a channel, not one along the last axis
    client::Shape shape(static_cast<std::size_t>(x.rank() - 1), client::Dim(1));
    shape[0] = slope.dim(0);
    slope = client::reshape(slope, shape);
  }
  return {Value(client::prelu(x, slope))};
}

// Before opset 13: over all axes from `axis` on at once.
Values along_axis(NodeContext& node, Tensor (*record)(const Tensor&, std::int64_t, client::Loc)) {
  const Tensor& x = node.tensor(0);
  const client::Loc here = client::Loc::current();
  if (node.opset() >= 13) return {Value(record(x, node.integer("axis", -1), here))};
  const std::int64_t axis = positive_axis(node.integer("axis", 1), x.rank());
  return {Value(client::reshape(record(client::flatten(x, axis), 1, here), x.shape()))};
}
Values softmax(NodeContext& node) { return along_axis(node, client::softmax); }
Values log_softmax(NodeContext& node) { return along_axis(node, client::log_softmax); }

Values hardmax(NodeContext& node) { return along_axis(node, client::hardmax); }

Values shrink(NodeContext& node) {
  const Tensor x = node.wide(0);
  const double threshold = node.real("lambd", 0.5), bias = node.real("bias", 0.0);
  const Tensor inner = client::where(client::greater(x, threshold), x - bias, 0.0);
  return {Value(node.rounded(client::where(client::less(x, -threshold), x + bias, inner)))};
}

Values gelu(NodeContext& node) {
  const std::string approximate = node.text("approximate", "none");
  if (approximate != "none" && approximate != "tanh") reject("attribute approximate is neither none nor tanh");
  return {Value(client::gelu(node.tensor(0), approximate == "tanh"))};
}

Values swish(NodeContext& node) {
  const Tensor x = node.wide(0);
  return {Value(node.rounded(x * client::sigmoid(node.real("alpha", 1.0) * x)))};
}

Values swiglu(NodeContext& node) {
  return {Value(client::swiglu(node.tensor(0), node.tensor(1), node.real("alpha", 1.0)))};
}

constexpr OperatorEntry kOperators[] = {
    {"Gelu", gelu, 20},
    {"Swish", swish, 24},
    {"SwiGLU", swiglu, 28},
    {"Relu", relu},
    {"Sigmoid", recorded<client::sigmoid>},
    {"Tanh", recorded<client::tanh>},
    {"Softplus", recorded<client::softplus>},
    {"Softsign", recorded<client::softsign>},
    {"HardSwish", recorded<client::hard_swish>, 14},
    {"Mish", recorded<client::mish>, 18},
    {"LeakyRelu", leaky_relu},
    {"Elu", elu},
    {"Selu", selu},
    {"Celu", celu, 12},
    {"HardSigmoid", hard_sigmoid},
    {"ThresholdedRelu", thresholded_relu, 10},
    {"PRelu", prelu},
    {"Softmax", softmax},
    {"LogSoftmax", log_softmax},
    {"Hardmax", hardmax},
    {"Shrink", shrink, 9},
};

}  // namespace

std::span<const OperatorEntry> activation_operators() { return kOperators; }

}  // namespace hearth::onnx
