// Operators that pick elements by index, pad, or rearrange blocks.
#include <algorithm>

#include "base/text.h"
#include "client/onnx/host_math.h"
#include "client/onnx/model_file.h"
#include "client/onnx/narrow_weights.h"
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "hearth/ops/creation.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/linear.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/reduce.h"

namespace hearth::onnx {
namespace {

using client::Dim;
using client::Shape;
using client::Tensor;

Shape dims(const Ints& shape) { return {shape.begin(), shape.end()}; }

// Picks rows of a table that may be stored narrow, with a scale for each of its rows.
Tensor picked(const NodeContext& node, const Tensor& indices, std::int64_t axis) {
  const StoredWeight table = node.weight(0, axis);
  const Tensor rows = client::gather(table.tensor, indices, axis);
  if (table.scale.empty()) return rows;
  client::Axes inner;
  for (std::int64_t i = axis + 1; i < node.input(0).rank(); ++i) inner.push_back(indices.rank() + i - axis - 1);
  return rows * client::unsqueeze(client::gather(table.scale, indices, 0), inner);
}

Values gather(NodeContext& node) {
  const Value& data = node.input(0);
  const Value& indices = node.input(1);
  const std::int64_t axis = positive_axis(node.integer("axis", 0), data.rank());
  const Dim symbolic_length = data.dims()[static_cast<std::size_t>(axis)];
  if (!indices.is_host() || !symbolic_length.is_const()) {
    return {Value(picked(node, indices.tensor(), axis))};
  }
  const std::int64_t length = symbolic_length.value();
  Ints known = indices.host().integers();
  for (std::int64_t& index : known) {
    if (index < -length || index >= length) reject(str_cat("index ", index, " is out of range for length ", length));
    if (index < 0) index += length;
  }
  const Ints index_shape = indices.shape();
  Shape shape = data.dims();
  shape.erase(shape.begin() + axis);
  shape.insert(shape.begin() + axis, index_shape.begin(), index_shape.end());
  if (data.is_lengths() || (data.is_host() && fits(client::const_shape(shape), data.dtype()))) {
    return {node.moved(data, [&](const HostTensor& x) { return host_take(x, known, index_shape, axis); })};
  }
  // Consecutive known indices are a slice.
  bool consecutive = !known.empty();
  for (std::size_t i = 1; i < known.size(); ++i) consecutive = consecutive && known[i] == known[i - 1] + 1;
  if (consecutive) {
    const Tensor part = client::slice(data.tensor(), {{axis, known.front(), known.back() + 1, 1}});
    return {Value(client::reshape(part, shape))};
  }
  return {Value(picked(node, indices.tensor(), axis))};
}

Values gather_elements(NodeContext& node) {
  return {Value(client::gather_elements(node.tensor(0), node.tensor(1), node.integer("axis", 0)))};
}

Values reverse_sequence(NodeContext& node) {
  const std::int64_t batch_axis = node.integer("batch_axis", 1), time_axis = node.integer("time_axis", 0);
  return {Value(client::reverse_sequence(node.tensor(0), node.tensor(1), time_axis, batch_axis))};
}

// values = [off, on]; indices outside the range give `off` everywhere.
Values one_hot(NodeContext& node) {
  const HostTensor& depth = node.known(1, "depth");
  if (depth.size() != 1 || depth.integer(0) <= 0) reject("depth must be one positive number");
  Tensor indices = node.tensor(0);
  if (is_float(indices.dtype())) indices = client::cast(indices, DType::kI64);
  const Tensor hot = client::one_hot(indices, depth.integer(0), DType::kBool, node.integer("axis", -1));
  const Tensor off = client::select(node.tensor(2), 0, 0);
  const Tensor on = client::select(node.tensor(2), 0, 1);
  return {Value(client::where(hot, on, off))};
}

constexpr int kPadsInput = 11;  // first opset; attributes before

// Elements from around the end, as numpy's mode "wrap".
Tensor pad_wrap(Tensor x, const Ints& before, const Ints& after) {
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] == 0 && after[i] == 0) continue;
    const auto axis = static_cast<std::int64_t>(i);
    const Dim& length = x.dim(axis);
    if (!length.is_const()) reject_unsupported("mode 'wrap' along a symbolic length");
    if (length == Dim(0)) reject(str_cat("axis ", axis, " is empty and has nothing to wrap around"));
    Ints places;
    for (std::int64_t at = -before[i]; at < length.value() + after[i]; ++at) {
      places.push_back(((at % length.value()) + length.value()) % length.value());
    }
    x = client::gather(x, client::constant_i64({std::ssize(places)}, places), axis);
  }
  return x;
}

// Negative pads crop what is there before the others repeat it.
Tensor cropped(const Tensor& x, Ints& before, Ints& after) {
  Ints front(before.size(), 0), back(after.size(), 0);
  for (std::size_t i = 0; i < before.size(); ++i) {
    front[i] = std::min<std::int64_t>(before[i], 0);
    back[i] = std::min<std::int64_t>(after[i], 0);
    before[i] = std::max<std::int64_t>(before[i], 0);
    after[i] = std::max<std::int64_t>(after[i], 0);
  }
  const bool crops = std::ranges::any_of(front, [](auto n) { return n < 0; }) ||
                     std::ranges::any_of(back, [](auto n) { return n < 0; });
  return crops ? client::pad(x, dims(front), dims(back)) : x;
}

// Where padded elements along one axis come from, for amounts that are lengths, as numpy.pad has it.
Tensor sources(const std::string& mode, const client::Dim& before, const client::Dim& length,
               const client::Dim& total) {
  const Tensor place = client::arange(total, DType::kI64) - client::dim_value(before, DType::kI64),
               last = client::dim_value(length - 1, DType::kI64);
  if (mode == "edge") return client::minimum(client::maximum(place, 0), last);
  if (mode == "wrap") return client::floor_mod(place, client::dim_value(length, DType::kI64));
  // There and back in 2 (n - 1) steps.
  const Tensor turn = client::floor_mod(place, client::dim_value(max(1, 2 * (length - 1)), DType::kI64));
  return last - client::abs(last - turn);
}

Tensor padded_by_lengths(const Tensor& x, const Shape& before, const Shape& after, const std::string& mode) {
  Tensor result = x;
  for (std::size_t axis = 0; axis < before.size(); ++axis) {
    const client::Dim length = x.shape()[axis];
    if (before[axis] == client::Dim(0) && after[axis] == client::Dim(0)) continue;
    if (length.min() < 1) reject_unsupported(str_cat("mode '", mode, "' of axis ", axis, ", which may be empty,"));
    result = client::gather(result, sources(mode, before[axis], length, before[axis] + length + after[axis]),
                            static_cast<std::int64_t>(axis));
  }
  return result;
}

Values pad(NodeContext& node) {
  const Value& x = node.input(0);
  const auto rank = static_cast<std::size_t>(x.rank());
  const std::string mode = node.text("mode", "constant");
  double fill = node.opset() < kPadsInput ? node.real("value", 0) : 0;
  const auto given = node.lengths(node.opset() < 2 ? "paddings" : "pads", 1, kPadsInput);
  if (!given) reject("pads are missing");
  const Shape pads = *given;
  Ints axes(rank);
  for (std::size_t i = 0; i < rank; ++i) axes[i] = static_cast<std::int64_t>(i);
  if (node.opset() >= 18 && node.has_input(3)) axes = node.known_integers(3, "axes");
  if (pads.size() != 2 * axes.size()) {
    reject(str_cat("pads has ", pads.size(), " numbers; ", axes.size(), " axes need ", 2 * axes.size()));
  }
  Shape before(rank, 0), after(rank, 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(positive_axis(axes[i], static_cast<std::int64_t>(rank)));
    before[axis] = pads[i];
    after[axis] = pads[i + axes.size()];
  }
  const auto is_zero = [](const client::Dim& n) { return n == client::Dim(0); };
  if (std::all_of(pads.begin(), pads.end(), is_zero)) return {x};
  if (mode == "reflect" || mode == "edge" || mode == "wrap") {
    if (!client::is_const(pads)) return {Value(padded_by_lengths(x.tensor(), before, after, mode))};
    Ints front = client::const_shape(before), back = client::const_shape(after);
    const Tensor kept = cropped(x.tensor(), front, back);
    if (mode == "wrap") return {Value(pad_wrap(kept, front, back))};
    return {
        Value((mode == "edge" ? client::pad_edge : client::pad_reflect)(kept, front, back, client::Loc::current()))};
  }
  if (mode != "constant") reject_unsupported(str_cat("mode '", mode, "'"));
  if (node.has_input(2)) {
    const HostTensor& value = node.known(2, "the fill value");
    if (value.size() != 1) reject("the fill value must be one number");
    if (!is_float(x.dtype())) return {Value(client::pad_integer(x.tensor(), before, after, value.integer(0)))};
    fill = value.real(0);
  }
  return {Value(client::pad(x.tensor(), before, after, fill))};
}

template <Tensor (*cumulate)(const Tensor&, std::int64_t, bool, bool, client::Loc)>
Values cumulated(NodeContext& node) {
  const HostTensor& axis = node.known(1, "the axis");
  if (axis.size() != 1) reject("the axis must be one number");
  const bool exclusive = node.integer("exclusive", 0) != 0;
  const bool reverse = node.integer("reverse", 0) != 0;
  return {Value(cumulate(node.tensor(0), axis.integer(0), exclusive, reverse, client::Loc::current()))};
}

Values trilu(NodeContext& node) {
  const bool upper = node.integer("upper", 1) != 0;
  const std::int64_t k = node.has_input(1) ? node.known(1, "k").integer(0) : 0;
  return {Value(upper ? client::triu(node.tensor(0), k) : client::tril(node.tensor(0), k))};
}

// Ones on the k-th diagonal, in the input's shape.
Values eye_like(NodeContext& node) {
  const Value& like = node.input(0);
  const Shape shape = like.dims();
  if (shape.size() != 2) reject(str_cat("the input has shape ", client::to_string(shape), "; expected 2 axes"));
  const DType dtype = node.has("dtype") ? dtype_from_onnx(node.integer("dtype", 0)) : like.dtype();
  return {Value(client::eye(shape[0], shape[1], node.integer("k", 0), dtype))};
}

constexpr OperatorEntry kOperators[] = {
    {"Gather", gather},
    {"GatherElements", gather_elements, 11},
    {"OneHot", one_hot, 9},
    {"ReverseSequence", reverse_sequence, 10},
    {"Pad", pad},
    {"CumSum", cumulated<client::cumsum>, 11},
    {"CumProd", cumulated<client::cumprod>, 26},
    {"Trilu", trilu, 14},
    {"EyeLike", eye_like, 9},
};

}  // namespace

std::span<const OperatorEntry> indexing_operators() { return kOperators; }

}  // namespace hearth::onnx
