// Normalisations, in their inference form.
#include "base/text.h"
#include "client/onnx/model_file.h"
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "client/onnx/windows.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/nn.h"
#include "hearth/ops/reduce.h"

namespace hearth::onnx {
namespace {

// The type that stash_type names: statistics are computed in it and, where they are results, have it. What is narrower
// than f32 is computed in f32, since ONNX allows every more exact way, and rounded to the type where it is a result.
DType stash_type(NodeContext& node) {
  const DType type = dtype_from_onnx(node.integer("stash_type", 1));
  if (!is_float(type)) reject(str_cat("stash_type is ", dtype_name(type), "; expected a floating-point type"));
  return type;
}

// x in what statistics of that type are computed in.
client::Tensor stashed(const client::Tensor& x, DType stash) {
  return stash == DType::kF64 ? client::cast(x, DType::kF64) : widened(x);
}

Values layer_normalization(NodeContext& node) {
  const DType stash = stash_type(node);
  const std::int64_t axis = positive_axis(node.integer("axis", -1), node.input(0).rank());
  const double epsilon = node.real("epsilon", 1e-5);
  const client::Tensor x = stashed(node.tensor(0), stash);
  Values outputs = {Value(node.rounded(client::layer_norm(x, node.tensor(1), node.tensor_or_empty(2), axis, epsilon)))};
  client::Axes axes;
  for (std::int64_t i = axis; i < x.rank(); ++i) axes.push_back(i);
  if (node.num_outputs() > 1) outputs.emplace_back(client::cast(client::mean(x, axes, true), stash));
  if (node.num_outputs() > 2)
    outputs.emplace_back(client::cast(client::rsqrt(client::variance(x, axes, true) + epsilon), stash));
  return outputs;
}

// The batch's own mean and variance, and the running ones moved towards them.
Values batch_normalization_training(NodeContext& node, double epsilon, double momentum) {
  const client::BatchNormResult result =
      client::batch_norm_training(node.tensor(0), node.tensor(1), node.tensor(2), epsilon);
  const auto running = [&](std::size_t input, const client::Tensor& own) {
    const client::Tensor next = node.wide(input) * momentum + own * (1.0 - momentum);
    return Value(client::cast(next, node.input(input).dtype()));
  };
  return {Value(result.y), running(3, result.mean), running(4, result.variance)};
}

// Before opset 9, spatial = 0: every position of an item has statistics of its own.
Values normalization_by_position(NodeContext& node, double epsilon) {
  const Ints x = node.input(0).shape();
  const Ints item(x.begin() + std::min<std::ptrdiff_t>(1, std::ssize(x)), x.end());
  for (std::size_t i = 1; i < 5; ++i) {
    if (node.input(i).shape() == item) continue;
    reject(str_cat("input ", i, " has shape ", to_string(node.input(i).shape()), " but needs ", to_string(item)));
  }
  const client::Tensor normal = (node.wide(0) - node.wide(3)) / client::sqrt(node.wide(4) + epsilon);
  return {Value(node.rounded(normal * node.wide(1) + node.wide(2)))};
}

Values batch_normalization(NodeContext& node) {
  const bool by_position = node.opset() < 9 && node.integer("spatial", 1) == 0;
  if (node.opset() < 7 && node.integer("is_test", 0) == 0) reject_unsupported("training (is_test = 0)");
  const double momentum = node.real("momentum", 0.9);
  const double epsilon = node.real("epsilon", 1e-5);
  if (node.opset() >= 14 && node.integer("training_mode", 0) != 0) {
    return batch_normalization_training(node, epsilon, momentum);
  }
  for (std::size_t i = 1; i < node.num_outputs(); ++i) {
    if (node.wants_output(i)) reject_unsupported("training (more than one output)");
  }
  if (by_position) return normalization_by_position(node, epsilon);
  return {Value(
      client::batch_norm(node.tensor(0), node.tensor(1), node.tensor(2), node.tensor(3), node.tensor(4), epsilon))};
}

Values mean_variance_normalization(NodeContext& node) {
  return {Value(client::mean_variance_norm(node.tensor(0), node.integers("axes").value_or(Ints{0, 2, 3})))};
}

constexpr int kChannelScales = 21;  // first opset of GroupNormalization with one scale a channel; one a group before

Values group_normalization(NodeContext& node) {
  const std::int64_t groups = node.required_integer("num_groups");
  const double epsilon = node.real("epsilon", 1e-5);
  const client::Shape shape = node.input(0).dims();
  check_spatial(shape);
  if (!shape[1].is_const()) reject_unsupported(str_cat(shape[1].to_string(), " channels"));
  const std::int64_t channels = shape[1].value();
  if (groups < 1 || channels % groups != 0) reject(str_cat(channels, " channels do not make ", groups, " groups"));
  const bool per_channel = node.opset() >= kChannelScales;
  const DType stash = per_channel ? stash_type(node) : DType::kF32;
  for (std::size_t i : {1, 2}) {
    if (node.input(i).shape() != Ints{per_channel ? channels : groups})
      reject(str_cat("scale and bias must have one number a ", per_channel ? "channel" : "group"));
  }
  const auto spread = [&](std::size_t i) {
    return per_channel ? node.tensor(i) : client::repeat_interleave(node.tensor(i), channels / groups, 0);
  };
  const client::Tensor x = stashed(node.tensor(0), stash);
  return {Value(node.rounded(client::group_norm(x, groups, spread(1), spread(2), epsilon)))};
}

Values lp_normalization(NodeContext& node) {
  const std::int64_t p = node.integer("p", 2);
  if (p != 1 && p != 2) reject(str_cat("p is ", p, "; expected 1 or 2"));
  return {Value(client::lp_normalize(node.tensor(0), node.integer("axis", -1), static_cast<double>(p)))};
}

Values lrn(NodeContext& node) {
  const double alpha = node.real("alpha", 1e-4), beta = node.real("beta", 0.75), bias = node.real("bias", 1.0);
  return {Value(client::local_response_norm(node.tensor(0), node.required_integer("size"), alpha, beta, bias))};
}

Values instance_normalization(NodeContext& node) {
  const double epsilon = node.real("epsilon", 1e-5);
  return {Value(client::instance_norm(node.tensor(0), node.tensor(1), node.tensor(2), epsilon))};
}

}  // namespace

Values simplified_layer_normalization(NodeContext& node) {
  const client::Tensor x = stashed(node.tensor(0), stash_type(node));
  const std::int64_t axis = positive_axis(node.integer("axis", -1), node.input(0).rank());
  const double epsilon = node.real("epsilon", 1e-5);
  if (node.wants_output(1)) reject_unsupported("output 1 (statistics for training)");
  // The result has the scale's type, should the two differ.
  return {Value(node.rounded(client::rms_norm(x, node.tensor(1), axis, epsilon), 1))};
}

namespace {

constexpr OperatorEntry kOperators[] = {
    // ONNX Runtime's optimiser writes it without a domain.
    {"SimplifiedLayerNormalization", simplified_layer_normalization},
    {"LayerNormalization", layer_normalization, 17},
    {"BatchNormalization", batch_normalization},
    {"InstanceNormalization", instance_normalization},
    {"MeanVarianceNormalization", mean_variance_normalization, 9},
    {"RMSNormalization", simplified_layer_normalization, 23},
    {"GroupNormalization", group_normalization, 18, 21},
    {"LpNormalization", lp_normalization},
    {"LRN", lrn},
};

}  // namespace

std::span<const OperatorEntry> normalization_operators() { return kOperators; }

}  // namespace hearth::onnx
