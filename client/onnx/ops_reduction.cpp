// Reductions and positions of extremes.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/text.h"
#include "client/onnx/host_math.h"
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/reduce.h"

namespace hearth::onnx {
namespace {

using client::Axes;
using client::Tensor;

// ReduceSum takes its axes as an input since opset 13, the others since 18; before, they are an attribute.
constexpr int kSumAxesInput = 13;
constexpr int kAxesInput = 18;

using Record = Tensor (*)(const Tensor&, const Axes&, bool);

// The greatest of no elements: what any element would replace.
Tensor least_of(const client::Shape& shape, DType dtype) {
  if (is_float(dtype)) return client::full(shape, -std::numeric_limits<double>::infinity(), dtype);
  const int bits = static_cast<int>(8 * dtype_bytes(dtype));
  return client::full_i64(shape, is_signed(dtype) ? std::numeric_limits<std::int64_t>::min() >> (64 - bits) : 0, dtype);
}
Tensor greatest_of(const client::Shape& shape, DType dtype) {
  if (is_float(dtype)) return client::full(shape, std::numeric_limits<double>::infinity(), dtype);
  if (dtype == DType::kBool) return client::full_i64(shape, 1, dtype);
  if (dtype == DType::kU64) return client::bitcast(client::full_i64(shape, -1, DType::kI64), dtype);
  const int bits = static_cast<int>(8 * dtype_bytes(dtype));
  return client::full_i64(shape, std::numeric_limits<std::int64_t>::max() >> (64 - bits - (is_signed(dtype) ? 0 : 1)),
                          dtype);
}
Tensor mean_of_nothing(const client::Shape& shape, DType dtype) {
  if (!is_float(dtype)) reject("a mean over no elements has no integer value");
  return client::full(shape, std::numeric_limits<double>::quiet_NaN(), dtype);
}

// The result where an axis without elements is reduced; empty: there are elements.
Tensor of_no_elements(const Value& x, const Axes& axes, bool keepdims,
                      Tensor (*of_nothing)(const client::Shape&, DType)) {
  const client::Shape shape = x.dims();
  client::Shape reduced;
  bool is_empty = false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool along = axes.empty() || std::count(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) > 0;
    is_empty = is_empty || (along && shape[i] == client::Dim(0));
    if (!along) reduced.push_back(shape[i]);
    if (along && keepdims) reduced.push_back(1);
  }
  return is_empty ? of_nothing(reduced, x.dtype()) : Tensor();
}

// `of_nothing`: the result for no elements, where the recorded op has none. `of_each`: what the op makes of an element
// of its own, null where that is the element.
Values reduce(NodeContext& node, int axes_input_since, std::optional<HostReduce> folded, Record record,
              Tensor (*of_nothing)(const client::Shape&, DType) = nullptr, Tensor (*of_each)(const Tensor&) = nullptr) {
  const Value& x = node.input(0);
  Axes axes = node.integers("axes", 1, axes_input_since).value_or(Axes());
  const bool none_means_identity = node.opset() >= axes_input_since && node.integer("noop_with_empty_axes", 0) != 0;
  const bool keepdims = node.integer("keepdims", 1) != 0;
  if (axes.empty() && none_means_identity) {
    return {of_each == nullptr ? x : Value(node.rounded(of_each(widened(x.tensor()))))};
  }
  for (std::int64_t& axis : axes) axis = positive_axis(axis, x.rank());
  if (of_nothing != nullptr) {
    if (Tensor none = of_no_elements(x, axes, keepdims, of_nothing); !none.empty()) return {Value(none)};
  }
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
  const Tensor number = x.dtype() == DType::kBool ? client::cast(x.tensor(), DType::kU8) : widened(x.tensor());
  return {Value(node.rounded(record(number, axes, keepdims)))};
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
  return reduce(
      node, kAxesInput, HostReduce::kMax,
      [](const Tensor& x, const Axes& axes, bool keep) { return client::reduce_max(x, axes, keep); }, least_of);
}
Values reduce_min(NodeContext& node) {
  return reduce(
      node, kAxesInput, HostReduce::kMin,
      [](const Tensor& x, const Axes& axes, bool keep) { return client::reduce_min(x, axes, keep); }, greatest_of);
}
// Integers as floats that have their digits, so that neither squares nor sums wrap around.
Tensor real(const Tensor& x) {
  if (!is_integer(x.dtype())) return x;
  return client::cast(x, dtype_bytes(x.dtype()) >= 4 ? DType::kF64 : DType::kF32);
}

// The exact sum's quotient, towards zero.
Tensor integer_mean(const Tensor& x, const Axes& axes, bool keepdims) {
  const DType wide = is_signed(x.dtype()) ? DType::kI64 : DType::kU64;
  client::Dim elements = 1;
  for (std::int64_t i = 0; i < x.rank(); ++i) {
    if (axes.empty() || std::count(axes.begin(), axes.end(), i) > 0) elements = elements * x.dim(i);
  }
  return client::trunc_div(client::reduce_sum(client::cast(x, wide), axes, keepdims),
                           client::dim_value(elements, wide));
}
Values reduce_mean(NodeContext& node) {
  return reduce(
      node, kAxesInput, std::nullopt,
      [](const Tensor& x, const Axes& axes, bool keep) {
        return is_float(x.dtype()) ? client::mean(x, axes, keep) : integer_mean(x, axes, keep);
      },
      mean_of_nothing);
}
Values reduce_l1(NodeContext& node) {
  return reduce(
      node, kAxesInput, std::nullopt,
      [](const Tensor& x, const Axes& axes, bool keep) { return client::reduce_sum(client::abs(x), axes, keep); },
      nullptr, [](const Tensor& x) { return client::abs(x); });
}
Values reduce_l2(NodeContext& node) {
  return reduce(
      node, kAxesInput, std::nullopt,
      [](const Tensor& x, const Axes& axes, bool keep) {
        return client::sqrt(client::reduce_sum(client::square(real(x)), axes, keep));
      },
      nullptr, [](const Tensor& x) { return client::abs(x); });
}
Values reduce_sum_square(NodeContext& node) {
  return reduce(
      node, kAxesInput, std::nullopt,
      [](const Tensor& x, const Axes& axes, bool keep) { return client::reduce_sum(client::square(x), axes, keep); },
      nullptr, [](const Tensor& x) { return client::square(x); });
}
Values reduce_log_sum(NodeContext& node) {
  return reduce(
      node, kAxesInput, std::nullopt,
      [](const Tensor& x, const Axes& axes, bool keep) { return client::log(client::reduce_sum(real(x), axes, keep)); },
      nullptr, [](const Tensor& x) { return client::log(x); });
}
Values reduce_log_sum_exp(NodeContext& node) {
  return reduce(
      node, kAxesInput, std::nullopt,
      [](const Tensor& x, const Axes& axes, bool keep) { return client::logsumexp(real(x), axes, keep); }, least_of);
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
    {"ReduceMax", reduce_max, 1, 20},
    {"ReduceMin", reduce_min, 1, 20},
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
