// Reductions and positions of extremes.
#include <optional>

#include "client/onnx/host_math.h"
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "client/ops/elementwise.h"
#include "client/ops/reduce.h"
#include "runtime/text.h"

namespace hearth::onnx {
namespace {

using client::Axes;
using client::Tensor;

// ReduceSum takes its axes as an input since opset 13, the others since 18; before, they are an attribute.
constexpr int kSumAxesInput = 13;
constexpr int kAxesInput = 18;

using Record = Tensor (*)(const Tensor&, const Axes&, bool);

Values reduce(NodeContext& node, int axes_input_since, std::optional<HostReduce> folded, Record record) {
  const Value& x = node.input(0);
  Axes axes = node.integers("axes", 1, axes_input_since).value_or(Axes());
  const bool none_means_identity = node.opset() >= axes_input_since && node.integer("noop_with_empty_axes", 0) != 0;
  const bool keepdims = node.integer("keepdims", 1) != 0;
  if (axes.empty() && none_means_identity) return {x};
  for (std::int64_t& axis : axes) axis = positive_axis(axis, x.rank());
  if (folded && x.is_host() && can_fold(x.host()) && x.dtype() != DType::kU64) {
    return {node.made(host_reduce(*folded, x.host(), axes, keepdims))};
  }
  const auto all = static_cast<std::int64_t>(axes.empty() ? x.rank() : static_cast<std::int64_t>(axes.size()));
  if (folded && x.is_lengths() && all == x.rank()) {
    if (std::optional<Lengths> result = lengths_reduce(*folded, *x.lengths())) {
      if (keepdims) result->shape.assign(static_cast<std::size_t>(x.rank()), 1);
      return {node.made(*result)};
    }
  }
  // The result has the input's type, whatever it was accumulated in.
  return {Value(client::cast(record(x.tensor(), axes, keepdims), x.dtype()))};
}

Values reduce_sum(NodeContext& node) {
  return reduce(node, kSumAxesInput, HostReduce::kSum,
                [](const Tensor& x, const Axes& axes, bool keep) { return client::reduce_sum(x, axes, keep); });
}
Values reduce_prod(NodeContext& node) {
  return reduce(node, kAxesInput, HostReduce::kProd,
                [](const Tensor& x, const Axes& axes, bool keep) { return client::reduce_prod(x, axes, keep); });
}
Values reduce_max(NodeContext& node) {
  return reduce(node, kAxesInput, HostReduce::kMax,
                [](const Tensor& x, const Axes& axes, bool keep) { return client::reduce_max(x, axes, keep); });
}
Values reduce_min(NodeContext& node) {
  return reduce(node, kAxesInput, HostReduce::kMin,
                [](const Tensor& x, const Axes& axes, bool keep) { return client::reduce_min(x, axes, keep); });
}
Values reduce_mean(NodeContext& node) {
  return reduce(node, kAxesInput, std::nullopt,
                [](const Tensor& x, const Axes& axes, bool keep) { return client::mean(x, axes, keep); });
}
Values reduce_l1(NodeContext& node) {
  return reduce(node, kAxesInput, std::nullopt, [](const Tensor& x, const Axes& axes, bool keep) {
    return client::reduce_sum(client::abs(x), axes, keep);
  });
}
Values reduce_l2(NodeContext& node) {
  return reduce(node, kAxesInput, std::nullopt, [](const Tensor& x, const Axes& axes, bool keep) {
    return client::sqrt(client::reduce_sum(client::square(x), axes, keep));
  });
}
Values reduce_sum_square(NodeContext& node) {
  return reduce(node, kAxesInput, std::nullopt, [](const Tensor& x, const Axes& axes, bool keep) {
    return client::reduce_sum(client::square(x), axes, keep);
  });
}
Values reduce_log_sum(NodeContext& node) {
  return reduce(node, kAxesInput, std::nullopt, [](const Tensor& x, const Axes& axes, bool keep) {
    return client::log(client::reduce_sum(x, axes, keep));
  });
}
Values reduce_log_sum_exp(NodeContext& node) {
  return reduce(node, kAxesInput, std::nullopt,
                [](const Tensor& x, const Axes& axes, bool keep) { return client::logsumexp(x, axes, keep); });
}

Values position(NodeContext& node, Tensor (*record)(const Tensor&, std::int64_t, bool, bool, client::Loc)) {
  const std::int64_t axis = positive_axis(node.integer("axis", 0), node.input(0).rank());
  const bool keepdims = node.integer("keepdims", 1) != 0;
  const bool last = node.integer("select_last_index", 0) != 0;
  return {Value(record(node.tensor(0), axis, keepdims, last, client::Loc::current()))};
}
Values argmax(NodeContext& node) { return position(node, client::argmax); }
Values argmin(NodeContext& node) { return position(node, client::argmin); }

constexpr OperatorEntry kOperators[] = {
    {"ReduceSum", reduce_sum},
    {"ReduceProd", reduce_prod},
    {"ReduceMax", reduce_max},
    {"ReduceMin", reduce_min},
    {"ReduceMean", reduce_mean},
    {"ReduceL1", reduce_l1},
    {"ReduceL2", reduce_l2},
    {"ReduceSumSquare", reduce_sum_square},
    {"ReduceLogSum", reduce_log_sum},
    {"ReduceLogSumExp", reduce_log_sum_exp},
    {"ArgMax", argmax},
    {"ArgMin", argmin},
};

}  // namespace

std::span<const OperatorEntry> reduction_operators() { return kOperators; }

}  // namespace hearth::onnx
