// Operators that move elements: known values are moved on the host, others recorded as movement ops.
#include <algorithm>
#include <limits>
#include <numeric>

#include "base/text.h"
#include "client/onnx/host_math.h"
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "hearth/ops/movement.h"

namespace hearth::onnx {
namespace {

using client::Dim;
using client::Shape;
using client::Tensor;

bool is_known(const Value& x) { return x.is_host() || x.is_lengths(); }

// Whether elements known now may be moved now, with `shape` as the result.
bool movable(const Value& x, const Shape& shape) {
  return is_known(x) && client::is_const(shape) && fits(client::const_shape(shape), x.dtype());
}

Value viewed(const NodeContext& node, const Value& x, const View& view, std::string_view part = "") {
  return node.moved(x, [&](const HostTensor& known) { return host_view(known, view); }, part);
}

Value empty_of(const NodeContext& node, DType dtype, const Shape& shape) {
  if (client::is_const(shape)) return node.made(HostTensor(dtype, client::const_shape(shape), std::string()));
  return Value(client::full(shape, 0, dtype));
}

Value reshaped(const NodeContext& node, const Value& x, const Shape& shape) {
  if (x.dims() == shape) return x;
  if (!(client::num_elements(x.dims()) == client::num_elements(shape))) {
    reject(str_cat("cannot reshape ", client::to_string(x.dims()), " to ", client::to_string(shape)));
  }
  if (!is_known(x)) return Value(client::reshape(x.tensor(), shape));
  return node.moved(x, [to = client::const_shape(shape)](const HostTensor& known) { return known.reshaped(to); });
}

// First opsets of these as inputs; attributes before, and repeats along one axis only.
constexpr int kShapeInput = 5, kRepeatsInput = 6, kAxesInput = 13, kRunsInput = 10;

Values reshape(NodeContext& node) {
  const Value& x = node.input(0);
  const Shape from = x.dims();
  const auto given = node.lengths("shape", 1, kShapeInput);
  if (!given) reject("the new shape is missing");
  Shape to = *given;
  const bool keep_zero = node.integer("allowzero", 0) != 0;
  Dim known = 1;
  Dim* inferred = nullptr;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i] == Dim(0) && !keep_zero) {
      if (i >= from.size()) reject(str_cat("length 0 copies axis ", i, ", which ", client::to_string(from), " lacks"));
      to[i] = from[i];
    }
    if (to[i] == Dim(-1)) {
      if (inferred != nullptr) reject("more than one length is -1");
      inferred = &to[i];
    } else if (to[i].min() < 0) {
      reject(str_cat("shape ", client::to_string(to), " has a negative length"));
    } else {
      known = known * to[i];
    }
  }
  if (inferred != nullptr) {
    const Dim total = client::num_elements(from);
    if (known.min() < 1 || !(total / known * known == total)) {
      reject(str_cat("cannot infer -1 in ", client::to_string(to), " for ", client::to_string(from)));
    }
    *inferred = total / known;
  }
  return {reshaped(node, x, to)};
}

Values flatten(NodeContext& node) {
  const Shape from = node.input(0).dims();
  std::int64_t axis = node.integer("axis", 1);
  const auto rank = static_cast<std::int64_t>(from.size());
  if (axis < -rank || axis > rank) reject(str_cat("axis ", axis, " is out of range for rank ", rank));
  if (axis < 0) axis += rank;
  Shape to = {1, 1};
  for (std::int64_t i = 0; i < rank; ++i) to[i < axis] = to[i < axis] * from[static_cast<std::size_t>(i)];
  std::swap(to[0], to[1]);
  return {reshaped(node, node.input(0), to)};
}

Values squeeze(NodeContext& node) {
  const Shape from = node.input(0).dims();
  std::vector<bool> drop(from.size(), false);
  if (const auto axes = node.integers("axes", 1, kAxesInput)) {
    for (std::int64_t axis : *axes) {
      const auto at = static_cast<std::size_t>(positive_axis(axis, static_cast<std::int64_t>(from.size())));
      if (!(from[at] == Dim(1))) reject(str_cat("axis ", axis, " of ", client::to_string(from), " has not length 1"));
      drop[at] = true;
    }
  } else {
    for (std::size_t i = 0; i < from.size(); ++i) drop[i] = from[i] == Dim(1);
  }
  Shape to;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!drop[i]) to.push_back(from[i]);
  }
  return {reshaped(node, node.input(0), to)};
}

Values unsqueeze(NodeContext& node) {
  const Shape from = node.input(0).dims();
  const auto given = node.integers("axes", 1, kAxesInput);
  if (!given) reject("axes are missing");
  const Ints axes = *given;
  const std::size_t rank = from.size() + axes.size();
  std::vector<bool> fresh(rank, false);
  for (std::int64_t axis : axes) {
    const auto at = static_cast<std::size_t>(positive_axis(axis, static_cast<std::int64_t>(rank)));
    if (fresh[at]) reject(str_cat("axis ", axis, " is given twice"));
    fresh[at] = true;
  }
  Shape to;
  for (std::size_t i = 0, next = 0; i < rank; ++i) to.push_back(fresh[i] ? Dim(1) : from[next++]);
  return {reshaped(node, node.input(0), to)};
}

Values transpose(NodeContext& node) {
  const Value& x = node.input(0);
  const auto rank = static_cast<std::size_t>(x.rank());
  Ints order(rank);
  std::iota(order.rbegin(), order.rend(), 0);
  if (auto perm = node.integers("perm")) order = *perm;
  Ints sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < rank || i < sorted.size(); ++i) {
    if (sorted.size() != rank || sorted[i] != static_cast<std::int64_t>(i)) {
      reject(str_cat("perm ", to_string(order), " is no permutation of ", rank, " axes"));
    }
  }
  if (!movable(x, x.dims()) || node.is_narrow_weight(x)) {
    if (!x.is_bounded()) return {Value::permuted(x, order)};
    const auto at = std::find(order.begin(), order.end(), x.bounded_axis()) - order.begin();
    return {Value::bounded(client::permute(x.tensor(), order), at, x.length())};
  }
  const Ints from = x.shape();
  const Ints strides = row_major_strides(from);
  View view;
  for (std::int64_t axis : order) {
    view.shape.push_back(from[static_cast<std::size_t>(axis)]);
    view.strides.push_back(strides[static_cast<std::size_t>(axis)]);
  }
  return {viewed(node, x, view)};
}

Values expand(NodeContext& node) {
  const Value& x = node.input(0);
  const Shape to = client::broadcast_shapes(x.dims(), node.known_lengths(1, "the shape").elements);
  if (!movable(x, to)) return {Value(client::expand(x.tensor(), to))};
  return {node.moved(x, [&](const HostTensor& known) { return host_expand(known, client::const_shape(to)); })};
}

Shape repeats_of(const NodeContext& node) {
  if (node.opset() >= kRepeatsInput) return node.known_lengths(1, "repeats").elements;
  const Ints given = node.known_integers(1, "repeats"), axis = node.known_integers(2, "the axis");
  if (given.size() != 1 || axis.size() != 1) reject("tiles and axis must be one number each");
  Shape repeats(static_cast<std::size_t>(node.input(0).rank()), 1);
  repeats[static_cast<std::size_t>(positive_axis(axis[0], node.input(0).rank()))] = given[0];
  return repeats;
}

Values tile(NodeContext& node) {
  const Value& x = node.input(0);
  const Shape times = repeats_of(node);
  if (static_cast<std::int64_t>(times.size()) != x.rank()) reject("repeats must have one number an axis");
  if (!is_known(x) || !client::is_const(times)) return {Value(client::tile(x.tensor(), times))};
  const Ints repeats = client::const_shape(times);
  const Ints from = x.shape();
  // [n] repeated r times is [r, n] with stride 0 along r.
  Ints to;
  View view;
  const Ints strides = row_major_strides(from);
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (repeats[i] < 0) reject("repeats must not be negative");
    if (from[i] != 0 && repeats[i] > (std::int64_t{1} << 40) / from[i]) reject("the result has too many elements");
    to.push_back(from[i] * repeats[i]);
    view.shape.insert(view.shape.end(), {repeats[i], from[i]});
    view.strides.insert(view.strides.end(), {0, strides[i]});
  }
  if (!movable(x, {to.begin(), to.end()})) return {Value(client::tile(x.tensor(), times))};
  return {node.moved(x, [&](const HostTensor& known) { return host_view(known, view).reshaped(to); })};
}

Values concat(NodeContext& node) {
  const std::int64_t given = node.opset() < 4 ? node.integer("axis", 1) : node.required_integer("axis");
  const Shape first = node.input(0).dims();
  const std::int64_t axis = positive_axis(given, static_cast<std::int64_t>(first.size()));
  bool all_host = true, all_known = true;
  Shape total = first;
  Dim& along = total[static_cast<std::size_t>(axis)];
  along = 0;
  for (std::size_t i = 0; i < node.num_inputs(); ++i) {
    const Value& x = node.input(i);
    const Shape shape = x.dims();
    bool fit = shape.size() == first.size() && x.dtype() == node.input(0).dtype();
    for (std::size_t k = 0; fit && k < shape.size(); ++k)
      fit = static_cast<std::int64_t>(k) == axis || shape[k] == first[k];
    if (!fit) {
      reject(str_cat("input ", i, " (", dtype_name(x.dtype()), client::to_string(shape), ") does not fit input 0 (",
                     dtype_name(node.input(0).dtype()), client::to_string(first), ") along axis ", axis));
    }
    along = along + shape[static_cast<std::size_t>(axis)];
    all_host = all_host && x.is_host();
    all_known = all_known && x.lengths();
  }
  if (node.num_inputs() == 1) return {node.input(0)};
  const bool is_empty = client::num_elements(total) == Dim(0);
  if (all_host && movable(node.input(0), total) && !is_empty) {
    std::vector<HostTensor> parts;
    for (std::size_t i = 0; i < node.num_inputs(); ++i) parts.push_back(node.input(i).host());
    return {node.made(host_cat(parts, axis))};
  }
  if (all_known && !is_empty) {
    std::vector<Lengths> parts;
    for (std::size_t i = 0; i < node.num_inputs(); ++i) parts.push_back(*node.input(i).lengths());
    return {node.made(lengths_cat(parts, axis))};
  }
  std::vector<Tensor> recorded;
  for (std::size_t i = 0; i < node.num_inputs(); ++i) {
    // An empty operand adds nothing (exporters use one as a start value).
    if (!(client::num_elements(node.input(i).dims()) == Dim(0))) recorded.push_back(node.tensor(i));
  }
  if (recorded.empty()) return {empty_of(node, node.input(0).dtype(), total)};
  return {Value(recorded.size() == 1 ? recorded[0] : client::cat(recorded, axis))};
}

// One axis of a slice, normalised: `length` elements from `begin`, `step` apart.
struct Run {
  std::int64_t begin = 0;
  std::int64_t length = 0;
  std::int64_t step = 1;
};

Run clamp_run(std::int64_t length, std::int64_t start, std::int64_t end, std::int64_t step) {
  if (step == 0) reject("a step is 0");
  const std::int64_t low = step > 0 ? 0 : -1;
  const std::int64_t high = step > 0 ? length : length - 1;
  const auto bound = [&](std::int64_t at) { return std::clamp(at < 0 ? at + length : at, low, high); };
  const std::int64_t from = bound(start);
  const std::int64_t to = bound(end);
  // A step past either end counts as one over the whole axis.
  step = std::clamp(step, -length - 1, length + 1);
  const std::int64_t span = step > 0 ? to - from : from - to;
  const std::int64_t stride = step > 0 ? step : -step;
  return {from, span <= 0 ? 0 : (span + stride - 1) / stride, step};
}

struct Bounds {
  std::size_t axis = 0;
  Dim start;
  Dim end;
  std::int64_t step = 1;
};

std::vector<Bounds> slice_bounds(NodeContext& node, std::int64_t rank) {
  const auto starts = node.lengths("starts", 1, kRunsInput), ends = node.lengths("ends", 2, kRunsInput);
  if (!starts || !ends) reject("starts or ends are missing");
  Ints axes(starts->size());
  std::iota(axes.begin(), axes.end(), 0);
  axes = node.integers("axes", 3, kRunsInput).value_or(axes);
  Ints steps(starts->size(), 1);
  if (node.has_input(4)) steps = node.known_integers(4, "steps");
  if (ends->size() != starts->size() || axes.size() != starts->size() || steps.size() != starts->size()) {
    reject("starts, ends, axes and steps differ in length");
  }
  std::vector<Bounds> bounds;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    bounds.push_back({static_cast<std::size_t>(positive_axis(axes[i], rank)), (*starts)[i], (*ends)[i], steps[i]});
  }
  return bounds;
}

// A bound that may be symbolic, of an axis that may be: from its end when negative, inside it otherwise.
Dim clamped(const Dim& at, const Dim& length) {
  if (at.min() < 0 && at.max() >= 0) reject_unsupported(str_cat("a slice at ", at.to_string(), ", of unknown sign,"));
  if (at.is_const() && at.value() >= length.max()) return length;  // also what has no sum with a length
  if (at.is_const() && at.value() < -length.max()) return 0;
  return max(0, min(at.max() < 0 ? at + length : at, length));
}

// A bound of a slice backwards: the place before the first element is -1.
Dim clamped_backwards(const Dim& at, const Dim& length) {
  if (at.min() < 0 && at.max() >= 0) reject_unsupported(str_cat("a slice at ", at.to_string(), ", of unknown sign,"));
  if (at.is_const() && at.value() >= length.max()) return length - 1;
  if (at.is_const() && at.value() < -length.max()) return -1;
  return max(-1, min(at.max() < 0 ? at + length : at, length - 1));
}

// x[start:end:-s] is the flip of x[end+1:start+1], then every s-th element.
Tensor cut_backwards(const Tensor& x, const Bounds& bounds) {
  const auto axis = static_cast<std::int64_t>(bounds.axis);
  const Dim first = clamped_backwards(bounds.end, x.dim(axis)) + 1,
            last = clamped_backwards(bounds.start, x.dim(axis)) + 1;
  Shape low(x.shape().size(), Dim(0)), high = x.shape();
  low[bounds.axis] = first;
  high[bounds.axis] = is_at_least(last, first) ? last : max(first, last);
  const Tensor part = client::flip(client::shrink(x, low, high), {axis});
  return bounds.step == -1 ? part : client::slice(part, {{axis, 0, client::Slice::kEnd, -bounds.step}});
}

// One axis of a slice whose bounds or length are symbolic.
Tensor cut(const Tensor& x, const Bounds& bounds) {
  const auto axis = static_cast<std::int64_t>(bounds.axis);
  const bool to_first = bounds.end.is_const() && bounds.end.value() < -x.dim(axis).max();
  if (bounds.step == -1 && bounds.start == Dim(-1) && to_first) return client::flip(x, {axis});
  if (bounds.step == 0) reject("a step is 0");
  if (bounds.step < 0) return cut_backwards(x, bounds);
  const Dim begin = clamped(bounds.start, x.dim(axis)), end = clamped(bounds.end, x.dim(axis));
  Shape low(x.shape().size(), Dim(0)), high = x.shape();
  low[bounds.axis] = begin;
  // Begin and end as they are where their order is proved: the maximum's bound alone does not show the length's sign.
  high[bounds.axis] = is_at_least(end, begin) ? end : max(begin, end);
  const Tensor part = client::shrink(x, low, high);
  return bounds.step == 1 ? part : client::slice(part, {{axis, 0, client::Slice::kEnd, bounds.step}});
}

Values symbolic_slice(const Value& x, const std::vector<Bounds>& bounds) {
  Tensor result = x.tensor();
  for (const Bounds& part : bounds) result = cut(result, part);
  return {Value(result)};
}

Values slice(NodeContext& node) {
  const Value& x = node.input(0);
  const std::vector<Bounds> bounds = slice_bounds(node, x.rank());
  const Shape dims = x.dims();
  for (const Bounds& part : bounds) {
    if (dims[part.axis].is_const() && part.start.is_const() && part.end.is_const()) continue;
    return symbolic_slice(x, bounds);
  }
  std::vector<client::Slice> slices;
  Shape to = dims;
  std::vector<Run> runs(dims.size());
  for (const Bounds& part : bounds) {
    const std::int64_t length = dims[part.axis].value();
    const Run run = runs[part.axis] = clamp_run(length, part.start.value(), part.end.value(), part.step);
    to[part.axis] = run.length;
    if (run.begin == 0 && run.length == length && run.step == 1) continue;
    const std::int64_t end = run.begin + (run.length - 1) * run.step + (run.step > 0 ? 1 : -1);
    slices.push_back(
        {static_cast<std::int64_t>(part.axis), run.begin, end < 0 ? client::Slice::kBeforeBegin : end, run.step});
  }
  if (client::num_elements(to) == Dim(0)) return {empty_of(node, x.dtype(), to)};
  if (slices.empty()) return {x};
  if (!movable(x, to)) return {Value(client::slice(x.tensor(), slices))};
  const Ints strides = row_major_strides(x.shape());
  View view{.shape = client::const_shape(to), .strides = strides};
  for (const Bounds& part : bounds) {
    view.strides[part.axis] = strides[part.axis] * runs[part.axis].step;
    view.offset += strides[part.axis] * runs[part.axis].begin;
  }
  return {viewed(node, x, view)};
}

constexpr OperatorEntry kOperators[] = {
    {"Reshape", reshape},
    {"Flatten", flatten},
    {"Squeeze", squeeze},
    {"Unsqueeze", unsqueeze},
    {"Transpose", transpose, 1, kCommonOpset, BoundedInputs::kHandled},
    {"Expand", expand, 8},
    {"Tile", tile},
    {"Concat", concat},
    {"Slice", slice},
};

}  // namespace

std::span<const OperatorEntry> movement_operators() { return kOperators; }

}  // namespace hearth::onnx
