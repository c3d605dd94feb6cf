// Operators that move elements: known values are moved on the host, others recorded as movement ops.
#include <algorithm>
#include <limits>
#include <numeric>

#include "client/onnx/host_math.h"
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "client/ops/movement.h"
#include "runtime/text.h"

namespace hearth::onnx {
namespace {

using client::Shape;
using client::Tensor;

Shape dims(const Ints& shape) { return {shape.begin(), shape.end()}; }

bool movable(const Value& x) { return x.is_host() && fits(x.host().shape(), x.dtype()); }

Value reshaped(const NodeContext& node, const Value& x, const Ints& shape) {
  if (x.shape() == shape) return x;
  if (x.is_host()) return node.made(x.host().reshaped(shape));
  if (count(x.shape()) != count(shape)) {
    reject(str_cat("cannot reshape ", to_string(x.shape()), " to ", to_string(shape)));
  }
  return Value(client::reshape(x.tensor(), dims(shape)));
}

Values reshape(NodeContext& node) {
  const Value& x = node.input(0);
  const Ints from = x.shape();
  Ints to = node.known_integers(1, "the new shape");
  const bool keep_zero = node.integer("allowzero", 0) != 0;
  std::int64_t known = 1;
  std::int64_t* inferred = nullptr;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i] == 0 && !keep_zero) {
      if (i >= from.size()) reject(str_cat("length 0 copies axis ", i, ", which ", to_string(from), " lacks"));
      to[i] = from[i];
    }
    if (to[i] == -1) {
      if (inferred != nullptr) reject("more than one length is -1");
      inferred = &to[i];
    } else if (to[i] < 0) {
      reject(str_cat("shape ", to_string(to), " has a negative length"));
    } else if (__builtin_mul_overflow(known, to[i], &known)) {
      reject("the new shape has too many elements");
    }
  }
  if (inferred != nullptr) {
    const std::int64_t total = count(from);
    if (known == 0 || total % known != 0) {
      reject(str_cat("cannot infer -1 in ", to_string(to), " for ", to_string(from)));
    }
    *inferred = total / known;
  }
  return {reshaped(node, x, to)};
}

Values flatten(NodeContext& node) {
  const Ints from = node.input(0).shape();
  std::int64_t axis = node.integer("axis", 1);
  const auto rank = static_cast<std::int64_t>(from.size());
  if (axis < -rank || axis > rank) reject(str_cat("axis ", axis, " is out of range for rank ", rank));
  if (axis < 0) axis += rank;
  Ints to = {1, 1};
  for (std::int64_t i = 0; i < rank; ++i) to[i < axis ? 0 : 1] *= from[static_cast<std::size_t>(i)];
  return {reshaped(node, node.input(0), to)};
}

// First opsets of axes (and lengths of parts), and of the bounds of slices, as inputs; attributes before.
constexpr int kAxesInput = 13, kRunsInput = 10;

Values squeeze(NodeContext& node) {
  const Ints from = node.input(0).shape();
  std::vector<bool> drop(from.size(), false);
  if (const auto axes = node.integers("axes", 1, kAxesInput)) {
    for (std::int64_t axis : *axes) {
      const auto at = static_cast<std::size_t>(positive_axis(axis, static_cast<std::int64_t>(from.size())));
      if (from[at] != 1) reject(str_cat("axis ", axis, " of ", to_string(from), " has not length 1"));
      drop[at] = true;
    }
  } else {
    for (std::size_t i = 0; i < from.size(); ++i) drop[i] = from[i] == 1;
  }
  Ints to;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!drop[i]) to.push_back(from[i]);
  }
  return {reshaped(node, node.input(0), to)};
}

Values unsqueeze(NodeContext& node) {
  const Ints from = node.input(0).shape();
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
  Ints to;
  for (std::size_t i = 0, next = 0; i < rank; ++i) to.push_back(fresh[i] ? 1 : from[next++]);
  return {reshaped(node, node.input(0), to)};
}

Values transpose(NodeContext& node) {
  const Value& x = node.input(0);
  const Ints from = x.shape();
  Ints order(from.size());
  std::iota(order.rbegin(), order.rend(), 0);
  if (auto perm = node.integers("perm")) order = *perm;
  Ints sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < from.size() || i < sorted.size(); ++i) {
    if (sorted.size() != from.size() || sorted[i] != static_cast<std::int64_t>(i)) {
      reject(str_cat("perm ", to_string(order), " is no permutation of ", from.size(), " axes"));
    }
  }
  if (!movable(x)) return {Value(client::permute(x.tensor(), order))};
  const Ints strides = row_major_strides(from);
  View view;
  for (std::int64_t axis : order) {
    view.shape.push_back(from[static_cast<std::size_t>(axis)]);
    view.strides.push_back(strides[static_cast<std::size_t>(axis)]);
  }
  return {node.made(host_view(x.host(), view))};
}

Values expand(NodeContext& node) {
  const Value& x = node.input(0);
  const Ints to = broadcast(x.shape(), node.known_integers(1, "the shape"));
  if (x.is_host() && fits(to, x.dtype())) return {node.made(host_expand(x.host(), to))};
  return {Value(client::expand(x.tensor(), dims(to)))};
}

Values tile(NodeContext& node) {
  const Value& x = node.input(0);
  const Ints from = x.shape();
  const Ints repeats = node.known_integers(1, "repeats");
  if (repeats.size() != from.size()) reject("repeats must have one number an axis");
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
  if (x.is_host() && fits(to, x.dtype())) return {node.made(host_view(x.host(), view).reshaped(to))};
  return {Value(client::tile(x.tensor(), repeats))};
}

Values concat(NodeContext& node) {
  const std::int64_t given = node.required_integer("axis");
  std::vector<HostTensor> known;
  std::vector<Tensor> recorded;
  Ints first = node.input(0).shape();
  const std::int64_t axis = positive_axis(given, static_cast<std::int64_t>(first.size()));
  bool all_known = true;
  Ints total = first;
  total[static_cast<std::size_t>(axis)] = 0;
  for (std::size_t i = 0; i < node.num_inputs(); ++i) {
    const Value& x = node.input(i);
    Ints shape = x.shape();
    bool fit = shape.size() == first.size() && x.dtype() == node.input(0).dtype();
    for (std::size_t k = 0; fit && k < shape.size(); ++k)
      fit = static_cast<std::int64_t>(k) == axis || shape[k] == first[k];
    if (!fit) {
      reject(str_cat("input ", i, " (", dtype_name(x.dtype()), to_string(shape), ") does not fit input 0 (",
                     dtype_name(node.input(0).dtype()), to_string(first), ") along axis ", axis));
    }
    total[static_cast<std::size_t>(axis)] += shape[static_cast<std::size_t>(axis)];
    all_known = all_known && x.is_host();
  }
  if (node.num_inputs() == 1) return {node.input(0)};
  if (all_known && fits(total, node.input(0).dtype()) && count(total) != 0) {
    for (std::size_t i = 0; i < node.num_inputs(); ++i) known.push_back(node.input(i).host());
    return {node.made(host_cat(known, axis))};
  }
  for (std::size_t i = 0; i < node.num_inputs(); ++i) {
    // An empty operand adds nothing (exporters use one as a start value).
    if (count(node.input(i).shape()) != 0) recorded.push_back(node.tensor(i));
  }
  if (recorded.empty()) return {node.made(HostTensor(node.input(0).dtype(), total, std::string()))};
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

Values slice(NodeContext& node) {
  const Value& x = node.input(0);
  const Ints from = x.shape();
  const auto given_starts = node.integers("starts", 1, kRunsInput), given_ends = node.integers("ends", 2, kRunsInput);
  if (!given_starts || !given_ends) reject("starts or ends are missing");
  const Ints starts = *given_starts, ends = *given_ends;
  Ints axes(starts.size());
  std::iota(axes.begin(), axes.end(), 0);
  axes = node.integers("axes", 3, kRunsInput).value_or(axes);
  Ints steps(starts.size(), 1);
  if (node.has_input(4)) steps = node.known_integers(4, "steps");
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
    reject("starts, ends, axes and steps differ in length");
  }
  std::vector<Run> runs;
  for (std::int64_t length : from) runs.push_back({0, length, 1});
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const auto axis = static_cast<std::size_t>(positive_axis(axes[i], static_cast<std::int64_t>(from.size())));
    runs[axis] = clamp_run(from[axis], starts[i], ends[i], steps[i]);
  }
  const Ints strides = row_major_strides(from);
  View view;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    view.shape.push_back(runs[i].length);
    view.strides.push_back(strides[i] * runs[i].step);
    view.offset += strides[i] * runs[i].begin;
  }
  if (count(view.shape) == 0) return {node.made(HostTensor(x.dtype(), view.shape, std::string()))};
  if (x.is_host() && fits(view.shape, x.dtype())) return {node.made(host_view(x.host(), view))};
  std::vector<client::Slice> slices;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].begin == 0 && runs[i].length == from[i] && runs[i].step == 1) continue;
    const std::int64_t end = runs[i].begin + (runs[i].length - 1) * runs[i].step + (runs[i].step > 0 ? 1 : -1);
    slices.push_back(
        {static_cast<std::int64_t>(i), runs[i].begin, end < 0 ? client::Slice::kBeforeBegin : end, runs[i].step});
  }
  if (slices.empty()) return {x};
  return {Value(client::slice(x.tensor(), slices))};
}

Values split(NodeContext& node) {
  const Value& x = node.input(0);
  const Ints from = x.shape();
  const std::int64_t axis = positive_axis(node.integer("axis", 0), static_cast<std::int64_t>(from.size()));
  const std::int64_t length = from[static_cast<std::size_t>(axis)];
  const auto parts = static_cast<std::int64_t>(node.num_outputs());
  if (node.integer("num_outputs", parts) != parts) reject("num_outputs differs from the number of outputs");
  Ints lengths;
  if (const auto given = node.integers("split", 1, kAxesInput)) {
    lengths = *given;
  } else {
    const std::int64_t chunk = parts == 0 ? 0 : (length + parts - 1) / parts;
    if (node.opset() < 18 && chunk * parts != length) reject(str_cat(length, " does not split into ", parts));
    for (std::int64_t i = 0; i < parts; ++i) lengths.push_back(std::clamp(length - i * chunk, std::int64_t{0}, chunk));
  }
  const bool valid = static_cast<std::int64_t>(lengths.size()) == parts &&
                     std::all_of(lengths.begin(), lengths.end(), [&](auto n) { return n >= 0 && n <= length; }) &&
                     std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}) == length;
  if (!valid) {
    reject(str_cat("lengths ", to_string(lengths), " do not split ", length, " into ", parts, " parts"));
  }
  Values outputs;
  if (!movable(x)) {
    for (const Tensor& part : client::split(x.tensor(), lengths, axis)) outputs.emplace_back(part);
    return outputs;
  }
  View view{.shape = from, .strides = row_major_strides(from)};
  for (std::int64_t part : lengths) {
    view.shape[static_cast<std::size_t>(axis)] = part;
    outputs.push_back(node.made(host_view(x.host(), view), str_cat(outputs.size())));
    view.offset += part * view.strides[static_cast<std::size_t>(axis)];
  }
  return outputs;
}

constexpr OperatorEntry kOperators[] = {
    {"Reshape", reshape, 5},  {"Flatten", flatten},  {"Squeeze", squeeze}, {"Unsqueeze", unsqueeze},
    {"Transpose", transpose}, {"Expand", expand, 8}, {"Tile", tile, 6},    {"Concat", concat, 4},
    {"Slice", slice},         {"Split", split, 2},
};

}  // namespace

std::span<const OperatorEntry> movement_operators() { return kOperators; }

}  // namespace hearth::onnx
