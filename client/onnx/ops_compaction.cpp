// Operators whose result's length depends on the data. Where that data is known while importing, so is the length.
#include <algorithm>

#include "base/text.h"
#include "client/onnx/host_math.h"
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "hearth/ops/compaction.h"
#include "hearth/ops/detection.h"
#include "hearth/ops/linear.h"
#include "hearth/ops/movement.h"

namespace hearth::onnx {
namespace {

using client::Tensor;

Values non_zero(NodeContext& node) {
  const Value& input = node.input(0);
  if (!input.is_host() || !can_fold(input.host())) {
    const client::Compacted found = client::nonzero(input.tensor());
    return {Value::bounded(found.values, 1, found.length)};
  }
  const HostTensor& x = input.host();
  const Ints strides = row_major_strides(x.shape());
  Ints hits;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    if (x.real(i) != 0) hits.push_back(i);
  }
  Ints positions;
  for (std::size_t axis = 0; axis < strides.size(); ++axis) {
    for (std::int64_t i : hits) positions.push_back(i / strides[axis] % x.shape()[axis]);
  }
  return {node.made(HostTensor::of_i64({x.rank(), static_cast<std::int64_t>(hits.size())}, positions))};
}

// Without an axis the input counts as flat.
Values compress(NodeContext& node) {
  Tensor x = node.tensor(0);
  std::int64_t axis = 0;
  if (node.has("axis")) {
    axis = positive_axis(node.integer("axis", 0), x.rank());
  } else {
    x = client::reshape(x, {-1});
  }
  const Value& condition = node.input(1);
  if (!condition.is_host()) {
    const client::Compacted kept = client::compress(x, condition.tensor(), axis);
    return {Value::bounded(kept.values, axis, kept.length)};
  }
  const HostTensor& known = condition.host();
  const std::int64_t length = client::const_shape(x.shape())[static_cast<std::size_t>(axis)];
  if (known.rank() != 1 || known.size() > length) {
    reject(str_cat("the condition has shape ", to_string(known.shape()), "; expected one axis of at most ", length));
  }
  Ints places;
  for (std::int64_t i = 0; i < known.size(); ++i) {
    if (known.integer(i) != 0) places.push_back(i);
  }
  if (places.empty()) return {Value(client::slice(x, {{.axis = axis, .end = 0}}))};
  const auto num_places = static_cast<std::int64_t>(places.size());
  return {Value(client::gather(x, client::constant_i64({num_places}, places), axis))};
}

Values unique(NodeContext& node) {
  std::optional<std::int64_t> axis;
  if (node.has("axis")) axis = positive_axis(node.integer("axis", 0), node.input(0).rank());
  const bool sorted = node.integer("sorted", 1) != 0;
  const client::UniqueResult found = client::unique(node.tensor(0), axis, sorted);
  return {Value::bounded(found.values, axis.value_or(0), found.length), Value::bounded(found.indices, 0, found.length),
          Value(found.inverse), Value::bounded(found.counts, 0, found.length)};
}

Tensor threshold(NodeContext& node, std::size_t index) {
  if (count(node.input(index).shape()) != 1) reject("a threshold must be one number");
  return client::reshape(node.tensor(index), {});
}

Values non_max_suppression(NodeContext& node) {
  client::SuppressionConfig config;
  if (node.integer("center_point_box", 0) != 0) config.format = client::BoxFormat::kCenter;
  if (node.has_input(2)) {
    const HostTensor& most = node.known(2, "max_output_boxes_per_class");
    if (most.size() != 1) reject("max_output_boxes_per_class must be one number");
    config.max_per_class = most.integer(0);
  }
  const Ints shape = node.input(1).shape();
  if (!shape.empty() && std::min(config.max_per_class, shape.back()) > client::kMaxChosenPerClass) {
    reject_unsupported(str_cat("max_output_boxes_per_class = ", config.max_per_class, " of ", shape.back(),
                               " boxes (at most ", client::kMaxChosenPerClass, ")"));
  }
  if (node.has_input(3)) config.iou_threshold = threshold(node, 3);
  if (node.has_input(4)) config.score_threshold = threshold(node, 4);
  const client::Compacted chosen = client::non_max_suppression(node.tensor(0), node.tensor(1), config);
  return {Value::bounded(chosen.values, 0, chosen.length)};
}

constexpr OperatorEntry kOperators[] = {
    {"NonZero", non_zero, 9},
    {"Compress", compress, 9},
    {"Unique", unique, 11},
    {"NonMaxSuppression", non_max_suppression, 10},
};

}  // namespace

std::span<const OperatorEntry> compaction_operators() { return kOperators; }

}  // namespace hearth::onnx
