#include "hearth/ops/movement.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "base/text.h"
#include "client/ops/support.h"
#include "client/tensor/elements.h"
#include "hearth/ops/creation.h"
#include "hearth/ops/linear.h"

namespace hearth::client {
namespace {

Tensor move(v1::Op op, const Tensor& x, Shape shape, Axes axes, std::vector<Dim> args, std::string data = {}) {
  Node node;
  node.op = op;
  node.dtype = x.dtype();
  node.shape = std::move(shape);
  node.inputs = {x};
  node.axes = std::move(axes);
  node.args = std::move(args);
  node.data = std::move(data);
  return make_node(std::move(node), OpScope::outermost()->loc());
}

void check_rank(const Tensor& x, std::size_t given, std::string_view what) {
  if (given != x.shape().size()) {
    fail_op(str_cat(what, " has ", given, " entries for ", describe(x), "; expected one an axis"));
  }
}

std::string encode_fill(double fill, DType dtype) {
  return is_float(dtype) ? encode_float(fill, dtype) : encode_integer(static_cast<std::int64_t>(fill), dtype);
}

}  // namespace

Tensor reshape(const Tensor& x, Shape shape, Loc loc) {
  OpScope scope("reshape", loc);
  require(x, "x");
  Dim known = 1;
  std::ptrdiff_t inferred = -1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == Dim(-1)) {
      if (inferred >= 0) fail_op(str_cat("shape ", to_string(shape), " has more than one -1"));
      inferred = static_cast<std::ptrdiff_t>(i);
    } else {
      known = known * shape[i];
    }
  }
  const Dim total = num_elements(x.shape());
  if (inferred >= 0) {
    if (known.min() < 1) {
      fail_op(str_cat("cannot infer -1 in ", to_string(shape), ": the other lengths may multiply to 0"));
    }
    shape[static_cast<std::size_t>(inferred)] = total / known;
  }
  if (!(num_elements(shape) == total)) {
    fail_op(str_cat("cannot reshape ", to_string(x.shape()), " (", total.to_string(), " elements) to ",
                    to_string(shape), " (", num_elements(shape).to_string(), " elements)"));
  }
  return reshape_to(x, shape);
}

Tensor flatten(const Tensor& x, std::int64_t axis, Loc loc) {
  OpScope scope("flatten", loc);
  const std::int64_t rank = require(x, "x").rank();
  if (axis != rank) axis = normal_axis(axis, rank);
  Dim rows = 1, columns = 1;
  for (std::int64_t i = 0; i < rank; ++i) (i < axis ? rows : columns) = (i < axis ? rows : columns) * x.dim(i);
  return reshape_to(x, {rows, columns});
}

Tensor expand(const Tensor& x, Shape shape, Loc loc) {
  OpScope scope("expand", loc);
  return expand_to(require(x, "x"), shape);
}

Tensor permute(const Tensor& x, Axes axes, Loc loc) {
  OpScope scope("permute", loc);
  check_rank(require(x, "x"), axes.size(), "axes");
  normal_axes(axes, x.rank());  // range and uniqueness
  Shape shape;
  bool moves = false;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    axes[i] = normal_axis(axes[i], x.rank());
    moves = moves || axes[i] != static_cast<std::int64_t>(i);
    shape.push_back(x.dim(axes[i]));
  }
  return moves ? move(v1::PERMUTE, x, std::move(shape), std::move(axes), {}) : x;
}

Tensor transpose(const Tensor& x, std::int64_t a, std::int64_t b, Loc loc) {
  OpScope scope("transpose", loc);
  const std::int64_t rank = require(x, "x").rank();
  Axes axes;
  for (std::int64_t i = 0; i < rank; ++i) axes.push_back(i);
  std::swap(axes[static_cast<std::size_t>(normal_axis(a, rank))], axes[static_cast<std::size_t>(normal_axis(b, rank))]);
  return permute(x, std::move(axes));
}

Tensor squeeze(const Tensor& x, Axes axes, Loc loc) {
  OpScope scope("squeeze", loc);
  require(x, "x");
  const bool every = axes.empty();
  axes = normal_axes(axes, x.rank());
  Shape shape;
  for (std::int64_t i = 0; i < x.rank(); ++i) {
    const bool one = x.dim(i) == Dim(1);
    const bool named = std::binary_search(axes.begin(), axes.end(), i);
    if (named && !one) {
      fail_op(str_cat("axis ", i, " of ", describe(x), " has the length ", x.dim(i).to_string(), "; expected 1"));
    }
    if (!(named || (every && one))) shape.push_back(x.dim(i));
  }
  return reshape_to(x, shape);
}

Tensor unsqueeze(const Tensor& x, Axes axes, Loc loc) {
  OpScope scope("unsqueeze", loc);
  const std::int64_t rank = require(x, "x").rank() + static_cast<std::int64_t>(axes.size());
  axes = normal_axes(axes, rank);
  Shape shape;
  std::int64_t next = 0;
  for (std::int64_t i = 0; i < rank; ++i) {
    shape.push_back(std::binary_search(axes.begin(), axes.end(), i) ? Dim(1) : x.dim(next++));
  }
  return reshape_to(x, shape);
}

Tensor shrink(const Tensor& x, Shape begin, Shape end, Loc loc) {
  OpScope scope("shrink", loc);
  check_rank(require(x, "x"), begin.size(), "begin");
  check_rank(x, end.size(), "end");
  Shape shape;
  std::vector<Dim> args;
  for (std::size_t i = 0; i < begin.size(); ++i) {
    const Dim& length = x.shape()[i];
    if (begin[i].min() < 0 || !is_at_least(end[i], begin[i]) || !is_at_least(length, end[i])) {
      fail_op(str_cat("[", begin[i].to_string(), ", ", end[i].to_string(), ") is not provably inside axis ", i,
                      " of length ", length.to_string(), "; expected 0 <= begin <= end <= length"));
    }
    shape.push_back(end[i] - begin[i]);
    args.push_back(begin[i]);
    args.push_back(end[i]);
  }
  if (shape == x.shape()) return x;
  return move(v1::SHRINK, x, std::move(shape), {}, std::move(args));
}

namespace {

Tensor padded(const Tensor& x, Shape before, Shape after, std::string fill) {
  check_rank(require(x, "x"), before.size(), "before");
  check_rank(x, after.size(), "after");
  Shape begin, end, shape;
  std::vector<Dim> args;
  bool crops = false, pads = false;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const Dim& length = x.shape()[i];
    for (const auto& [name, amount] : {std::pair("before", &before[i]), std::pair("after", &after[i])}) {
      if (amount->min() < 0 && amount->max() > 0) {
        fail_op(str_cat(name, "[", i, "] is ", amount->to_string(), ", whose sign is not known"));
      }
    }
    begin.push_back(max(Dim(0), Dim(0) - before[i]));
    end.push_back(length - max(Dim(0), Dim(0) - after[i]));
    before[i] = max(Dim(0), before[i]);
    after[i] = max(Dim(0), after[i]);
    crops = crops || !(begin[i] == Dim(0)) || !(end[i] == length);
    pads = pads || !(before[i] == Dim(0)) || !(after[i] == Dim(0));
    shape.push_back(end[i] - begin[i] + before[i] + after[i]);
    args.push_back(before[i]);
    args.push_back(after[i]);
  }
  const Tensor kept = crops ? shrink(x, begin, end) : x;
  if (!pads) return kept;
  const bool is_zero = std::ranges::all_of(fill, [](char byte) { return byte == 0; });
  return move(v1::PAD, kept, std::move(shape), {}, std::move(args), is_zero ? "" : std::move(fill));
}

}  // namespace

Tensor pad(const Tensor& x, Shape before, Shape after, double fill, Loc loc) {
  OpScope scope("pad", loc);
  return padded(x, std::move(before), std::move(after), encode_fill(fill, require(x, "x").dtype()));
}

Tensor pad_integer(const Tensor& x, Shape before, Shape after, std::int64_t fill, Loc loc) {
  OpScope scope("pad_integer", loc);
  require(x, "x");
  if (is_float(x.dtype())) fail_op(str_cat("argument 'x' is ", describe(x), "; expected an integer dtype or bool"));
  return padded(x, std::move(before), std::move(after), encode_integer(fill, x.dtype()));
}

namespace {

// x[.., begin:end, ..] along one axis.
Tensor cut(const Tensor& x, std::int64_t axis, Dim begin, Dim end) {
  Shape low(x.shape().size(), Dim(0)), high = x.shape();
  low[static_cast<std::size_t>(axis)] = std::move(begin);
  high[static_cast<std::size_t>(axis)] = std::move(end);
  return shrink(x, std::move(low), std::move(high));
}

template <typename Part>
Tensor pad_with(const Tensor& x, const Axes& before, const Axes& after, Part part) {
  check_rank(require(x, "x"), before.size(), "before");
  check_rank(x, after.size(), "after");
  Tensor result = x;
  for (std::int64_t axis = 0; axis < x.rank(); ++axis) {
    const std::int64_t low = before[static_cast<std::size_t>(axis)], high = after[static_cast<std::size_t>(axis)];
    if (low < 0 || high < 0) fail_op(str_cat("axis ", axis, " is padded by a negative amount; crop with shrink"));
    std::vector<Tensor> parts;
    if (low > 0) parts.push_back(part(result, axis, low, true));
    parts.push_back(result);
    if (high > 0) parts.push_back(part(result, axis, high, false));
    result = cat(parts, axis);
  }
  return result;
}

}  // namespace

Tensor pad_edge(const Tensor& x, Axes before, Axes after, Loc loc) {
  OpScope scope("pad_edge", loc);
  return pad_with(x, before, after, [](const Tensor& value, std::int64_t axis, std::int64_t amount, bool front) {
    const Dim& length = value.dim(axis);
    if (length.min() < 1) fail_op(str_cat("axis ", axis, " may be empty and has no edge to repeat"));
    const Tensor edge = front ? cut(value, axis, 0, 1) : cut(value, axis, length - 1, length);
    Shape shape = edge.shape();
    shape[static_cast<std::size_t>(axis)] = amount;
    return expand_to(edge, shape);
  });
}

Tensor pad_reflect(const Tensor& x, Axes before, Axes after, Loc loc) {
  OpScope scope("pad_reflect", loc);
  return pad_with(x, before, after, [](const Tensor& value, std::int64_t axis, std::int64_t amount, bool front) {
    const Dim& length = value.dim(axis);
    if (length.min() <= amount) {
      fail_op(str_cat("axis ", axis, " of length ", length.to_string(), " is reflected by ", amount,
                      "; expected less than the length"));
    }
    return flip(front ? cut(value, axis, 1, amount + 1) : cut(value, axis, length - (amount + 1), length - 1), {axis});
  });
}

Tensor flip(const Tensor& x, Axes axes, Loc loc) {
  OpScope scope("flip", loc);
  axes = normal_axes(axes, require(x, "x").rank());
  return axes.empty() ? x : move(v1::FLIP, x, x.shape(), std::move(axes), {});
}

Tensor unfold(const Tensor& x, std::int64_t axis, std::int64_t size, std::int64_t step, std::int64_t dilation,
              Loc loc) {
  OpScope scope("unfold", loc);
  axis = normal_axis(axis, require(x, "x").rank());
  if (size < 1 || step < 1 || dilation < 1 || size > (std::int64_t{1} << 31) || dilation > (std::int64_t{1} << 31)) {
    fail_op(str_cat("window size ", size, ", step ", step, ", dilation ", dilation, "; expected all >= 1"));
  }
  const Dim reach = Dim((size - 1) * dilation + 1);
  if ((x.dim(axis) - reach).min() < 0) {
    fail_op(str_cat("a window spans ", reach.to_string(), " elements but axis ", axis, " of ", describe(x),
                    " may be shorter"));
  }
  Shape shape = x.shape();
  shape[static_cast<std::size_t>(axis)] = (x.dim(axis) - reach) / Dim(step) + 1;
  shape.push_back(size);
  return move(v1::UNFOLD, x, std::move(shape), {axis}, {size, step, dilation});
}

namespace {

// Each stride-th element along an axis, from the first on: windows of one element. Where there may be none they are
// taken by their places, of an axis with one element more.
Tensor every(const Tensor& x, std::int64_t axis, std::int64_t stride) {
  const Dim length = x.dim(axis);
  if (length.min() >= 1) return squeeze(unfold(x, axis, 1, stride), {-1});
  Shape none(x.shape().size(), Dim(0)), more = none;
  more[static_cast<std::size_t>(axis)] = 1;
  return gather(pad(x, none, more), arange((length + (stride - 1)) / stride, DType::kI64) * stride, axis);
}

}  // namespace

Tensor slice(const Tensor& x, const std::vector<Slice>& slices, Loc loc) {
  OpScope scope("slice", loc);
  Tensor result = require(x, "x");
  for (const Slice& part : slices) {
    const std::int64_t axis = normal_axis(part.axis, x.rank());
    if (part.step == 0) fail_op(str_cat("axis ", axis, " is sliced with step 0; expected another step"));
    const Dim& length = result.dim(axis);
    const bool whole = part.begin == 0 && part.end == Slice::kEnd;
    if (!length.is_const() && !(whole && part.step > 0)) {
      // With a symbolic length only what holds for every value is accepted.
      const Dim begin = part.begin < 0 ? length + part.begin : Dim(part.begin);
      const Dim end = part.end == Slice::kEnd ? length : part.end < 0 ? length + part.end : Dim(part.end);
      if (part.step < 1) fail_op(str_cat("axis ", axis, " is symbolic and sliced backwards; flip it first"));
      result = cut(result, axis, begin, end);
    } else if (length.is_const()) {
      const std::int64_t n = length.value();
      auto clamp = [&](std::int64_t at, std::int64_t low, std::int64_t high) {
        if (at == Slice::kEnd) return part.step > 0 ? high : n - 1;
        if (at == Slice::kBeforeBegin) return low;
        return std::clamp(at < 0 ? at + n : at, low, high);
      };
      if (part.step > 0) {
        const std::int64_t begin = clamp(part.begin, 0, n);
        result = cut(result, axis, begin, std::max(begin, clamp(part.end, 0, n)));
      } else {
        // x[b:e:-s] is the flip of x[e+1:b+1], then every s-th element. kEnd as `end` means "to the first".
        const std::int64_t last = clamp(part.begin, -1, n - 1);
        const std::int64_t stop = part.end == Slice::kEnd ? -1 : clamp(part.end, -1, n - 1);
        result = flip(cut(result, axis, std::min(stop, last) + 1, last + 1), {axis});
      }
    }
    const std::int64_t stride = part.step < 0 ? -part.step : part.step;
    if (stride == 1 || result.dim(axis) == Dim(0)) continue;
    result = every(result, axis, stride);
  }
  return result;
}

Tensor select(const Tensor& x, std::int64_t axis, std::int64_t index, Loc loc) {
  OpScope scope("select", loc);
  axis = normal_axis(axis, require(x, "x").rank());
  const Dim begin = index < 0 ? x.dim(axis) + index : Dim(index);
  return squeeze(cut(x, axis, begin, begin + 1), {axis});
}

std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& lengths, std::int64_t axis, Loc loc) {
  OpScope scope("split", loc);
  axis = normal_axis(axis, require(x, "x").rank());
  Dim total = 0;
  for (std::int64_t length : lengths) total = total + Dim(length);
  if (!(total == x.dim(axis))) {
    fail_op(str_cat("lengths ", absl::StrJoin(lengths, "+"), " do not add up to axis ", axis, " of ", describe(x)));
  }
  std::vector<Tensor> parts;
  std::int64_t begin = 0;
  for (std::int64_t length : lengths) {
    parts.push_back(cut(x, axis, begin, begin + length));
    begin += length;
  }
  return parts;
}

std::vector<Tensor> split_every(const Tensor& x, std::int64_t length, std::int64_t axis, Loc loc) {
  OpScope scope("split_every", loc);
  axis = normal_axis(axis, require(x, "x").rank());
  if (length < 1) fail_op(str_cat("length is ", length, "; expected >= 1"));
  std::vector<std::int64_t> lengths;
  for (std::int64_t left = const_length(x, axis, "since it is split"); left > 0; left -= length) {
    lengths.push_back(std::min(left, length));
  }
  return split(x, lengths, axis);
}

Tensor tile(const Tensor& x, const Shape& repeats, Loc loc) {
  OpScope scope("tile", loc);
  check_rank(require(x, "x"), repeats.size(), "repeats");
  // [a, b] -> [1, a, 1, b] -> [ra, a, rb, b] -> [ra*a, rb*b]
  Shape spread, grown, result;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    if (repeats[i].min() < 0) fail_op(str_cat("repeats[", i, "] is ", repeats[i].to_string(), "; expected >= 0"));
    spread.insert(spread.end(), {Dim(1), x.shape()[i]});
    grown.insert(grown.end(), {repeats[i], x.shape()[i]});
    result.push_back(x.shape()[i] * repeats[i]);
  }
  return reshape_to(expand_to(reshape_to(x, spread), grown), result);
}

}  // namespace hearth::client
