#include "hearth/ops/reduce.h"

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "client/ops/support.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/movement.h"

namespace hearth::client {
namespace {

Axes reduced_axes(const Tensor& x, const Axes& axes) {
  if (!axes.empty()) return normal_axes(axes, x.rank());
  Axes every;
  for (std::int64_t i = 0; i < x.rank(); ++i) every.push_back(i);
  return every;
}

Tensor drop_axes(const Tensor& x, const Axes& axes) {
  Shape shape;
  for (std::int64_t i = 0; i < x.rank(); ++i) {
    if (!std::binary_search(axes.begin(), axes.end(), i)) shape.push_back(x.dim(i));
  }
  return reshape_to(x, shape);
}

Tensor reduce(v1::Op op, const Tensor& x, const Axes& given, bool keepdims) {
  const Axes axes = reduced_axes(x, given);
  if (axes.empty()) return x;
  Node node;
  node.op = op;
  node.dtype = x.dtype();
  node.shape = x.shape();
  for (std::int64_t axis : axes) {
    const bool needs_elements = op == v1::REDUCE_MAX || op == v1::REDUCE_MIN;
    if (needs_elements && x.dim(axis).min() < 1) {
      fail_op(str_cat("axis ", axis, " of ", describe(x), " may be empty; a maximum or minimum needs an element"));
    }
    node.shape[static_cast<std::size_t>(axis)] = 1;
  }
  node.inputs = {x};
  node.axes = axes;
  const Tensor result = make_node(std::move(node), OpScope::outermost()->loc());
  return keepdims ? result : drop_axes(result, axes);
}

// The dtype sums are kept in: narrow integers and bool widen to i32.
Tensor widen(const Tensor& x) {
  const bool narrow = x.dtype() == DType::kBool || (is_integer(x.dtype()) && dtype_bytes(x.dtype()) < 4);
  return narrow ? cast_to(x, DType::kI32) : x;
}

// How many elements are averaged: at least one.
Dim reduced_count(const Tensor& x, const Axes& axes) {
  Dim count = 1;
  for (std::int64_t axis : axes) count = count * x.dim(axis);
  if (count == Dim(0)) fail_op(str_cat(describe(x), " has no elements to average"));
  if (count.min() < 1) fail_op(str_cat(describe(x), " may have no elements to average; raise the lower bounds"));
  return count;
}

Tensor divided(const Tensor& sum, const Dim& count) {
  if (count.is_const()) return sum / static_cast<double>(count.value());
  return sum / dim_value(count, sum.dtype());
}

Tensor arg_extreme(v1::Op op, const Tensor& x, std::int64_t axis, bool keepdims, bool last) {
  axis = normal_axis(axis, require(x, "x").rank());
  const Dim any_length = x.dim(axis);
  if (any_length.min() < 1)
    fail_op(str_cat("axis ", axis, " of ", describe(x), " may be empty; no element is extreme"));
  const Tensor best = reduce(op, x, {axis}, true);
  // NaN counts as beyond every number, as in numpy; it equals nothing.
  const Tensor at_best = is_float(x.dtype()) ? bit_or(equal(x, best), is_nan(x)) : equal(x, best);
  const Tensor position = iota(x.shape(), axis, DType::kI32);
  if (!any_length.is_const()) {
    const double beyond = last ? -1 : std::numeric_limits<std::int32_t>::max();
    const Tensor places = where(at_best, position, beyond);
    return cast_to(reduce(last ? v1::REDUCE_MAX : v1::REDUCE_MIN, places, {axis}, keepdims), DType::kI64);
  }
  const std::int64_t length = any_length.value();
  // Scores are positive exactly where the extreme stands; the largest is the first (or last) position.
  const Tensor score = where(at_best, last ? position + 1 : Operand(length) - position, 0);
  const Tensor top = reduce(v1::REDUCE_MAX, score, {axis}, keepdims);
  return cast_to(last ? top - 1 : Operand(length) - top, DType::kI64);
}

// What may be subtracted from all elements whose maximum it is without making NaN of infinities.
Tensor finite_or_zero(const Tensor& top) {
  return where(equal(abs(top), std::numeric_limits<double>::infinity()), 0.0, top);
}

constexpr std::int64_t kMaxSummed = 16;  // elements that each result is made of directly

Tensor with_length(const Tensor& x, std::int64_t axis, std::int64_t before, std::int64_t after, double fill) {
  Shape in_front(x.shape().size(), Dim(0)), behind = in_front;
  in_front[static_cast<std::size_t>(axis)] = before;
  behind[static_cast<std::size_t>(axis)] = after;
  return pad(x, in_front, behind, fill);
}

// Running sums or products. Long axes in blocks: what a block makes of its own, combined with all before it.
Tensor cumulated(v1::Op op, double neutral, const Tensor& x, std::int64_t axis, bool exclusive) {
  const std::int64_t length = x.dim(axis).value();
  if (length <= kMaxSummed) {
    // Window i holds the elements up to i: n-1 neutral ones in front, one more (and the last cut) when exclusive.
    const Tensor padded = with_length(x, axis, exclusive ? length : length - 1, exclusive ? -1 : 0, neutral);
    return cast_to(reduce(op, unfold(padded, axis, length), {-1}, false), x.dtype());
  }
  const std::int64_t block = kMaxSummed / 2;
  const std::int64_t blocks = (length + block - 1) / block;
  Shape split = x.shape();
  split[static_cast<std::size_t>(axis)] = block;
  split.insert(split.begin() + axis, Dim(blocks));
  const Tensor in_blocks = reshape_to(with_length(x, axis, 0, blocks * block - length, neutral), split);
  const Tensor inside = cumulated(op, neutral, in_blocks, axis + 1, false);
  const Tensor before = unsqueeze(cumulated(op, neutral, select(inside, axis + 1, block - 1), axis, true), {axis + 1});
  Shape joined = x.shape();
  joined[static_cast<std::size_t>(axis)] = blocks * block;
  const Tensor all = reshape_to(op == v1::REDUCE_SUM ? inside + before : inside * before, joined);
  return with_length(all, axis, exclusive ? 1 : 0, length - blocks * block - (exclusive ? 1 : 0), neutral);
}

constexpr std::int64_t kMaxPairs = 4096;  // elements that each result of an axis of any length is made of directly

// Along an axis of any length: each result of all elements before it.
Tensor cumulated_directly(v1::Op op, double neutral, const Tensor& x, std::int64_t axis, bool exclusive) {
  const Dim length = x.dim(axis);
  if (length.max() > kMaxPairs) {
    fail_op(str_cat("axis ", axis, " of the length ", length.to_string(), " may have ", length.max(),
                    " elements to accumulate; expected at most ", kMaxPairs, " where the length is not known"));
  }
  Shape pairs = x.shape();
  pairs.insert(pairs.begin() + axis, length);  // the result's place, then the element's
  Shape one(pairs.size(), Dim(1)), other = one;
  one[static_cast<std::size_t>(axis)] = length;
  other[static_cast<std::size_t>(axis) + 1] = length;
  const Tensor place = iota(one, axis, DType::kI32), element = iota(other, axis + 1, DType::kI32);
  const Tensor counts = exclusive ? less(element, place) : less_equal(element, place);
  const Tensor all = where(counts, expand_to(unsqueeze(x, {axis}), pairs), neutral);
  return cast_to(reduce(op, all, {axis + 1}, false), x.dtype());
}

Tensor cumulate(v1::Op op, double neutral, const Tensor& x, std::int64_t axis, bool exclusive, bool reverse) {
  axis = normal_axis(axis, require(x, "x").rank());
  if (x.dim(axis) == Dim(0)) return x;
  const auto accumulate = x.dim(axis).is_const() ? cumulated : cumulated_directly;
  // Blocks of narrow floats are rounded once, at the end.
  const Tensor value = is_float(x.dtype()) ? cast_to(x, wide(x.dtype())) : x;
  const Tensor result = accumulate(op, neutral, reverse ? flip(value, {axis}) : value, axis, exclusive);
  return cast_to(reverse ? flip(result, {axis}) : result, x.dtype());
}

}  // namespace

Tensor reduce_sum(const Tensor& x, Axes axes, bool keepdims, Loc loc) {
  OpScope scope("reduce_sum", loc);
  return reduce(v1::REDUCE_SUM, widen(require(x, "x")), axes, keepdims);
}

Tensor reduce_prod(const Tensor& x, Axes axes, bool keepdims, Loc loc) {
  OpScope scope("reduce_prod", loc);
  return reduce(v1::REDUCE_PROD, widen(require(x, "x")), axes, keepdims);
}

Tensor reduce_max(const Tensor& x, Axes axes, bool keepdims, Loc loc) {
  OpScope scope("reduce_max", loc);
  return reduce(v1::REDUCE_MAX, require(x, "x"), axes, keepdims);
}

Tensor reduce_min(const Tensor& x, Axes axes, bool keepdims, Loc loc) {
  OpScope scope("reduce_min", loc);
  return reduce(v1::REDUCE_MIN, require(x, "x"), axes, keepdims);
}

Tensor mean(const Tensor& x, Axes axes, bool keepdims, Loc loc) {
  OpScope scope("mean", loc);
  return in_full_width(x, [&](const Tensor& value) {
    const Dim count = reduced_count(x, reduced_axes(x, axes));
    return divided(reduce(v1::REDUCE_SUM, value, axes, keepdims), count);
  });
}

Tensor variance(const Tensor& x, Axes axes, bool keepdims, std::int64_t correction, Loc loc) {
  OpScope scope("variance", loc);
  return in_full_width(x, [&](const Tensor& value) {
    const Dim count = reduced_count(x, reduced_axes(x, axes)) - correction;
    if (count.min() <= 0) fail_op(str_cat(describe(x), " has too few elements for correction ", correction));
    return divided(reduce(v1::REDUCE_SUM, square(value - mean(value, axes, true)), axes, keepdims), count);
  });
}

Tensor std_deviation(const Tensor& x, Axes axes, bool keepdims, std::int64_t correction, Loc loc) {
  OpScope scope("std_deviation", loc);
  return in_full_width(x, [&](const Tensor& value) { return sqrt(variance(value, axes, keepdims, correction)); });
}

Tensor lp_norm(const Tensor& x, double p, Axes axes, bool keepdims, Loc loc) {
  OpScope scope("lp_norm", loc);
  if (!(p >= 1)) fail_op(str_cat("p is ", p, "; expected at least 1"));
  return in_full_width(x, [&](const Tensor& value) {
    if (p == 1) return reduce(v1::REDUCE_SUM, abs(value), axes, keepdims);
    if (p == 2) return sqrt(reduce(v1::REDUCE_SUM, square(value), axes, keepdims));
    return pow(reduce(v1::REDUCE_SUM, pow(abs(value), p), axes, keepdims), 1 / p);
  });
}

Tensor any(const Tensor& x, Axes axes, bool keepdims, Loc loc) {
  OpScope scope("any", loc);
  const Tensor value = cast_to(cast(require(x, "x"), DType::kBool), DType::kI32);
  return not_equal(reduce(v1::REDUCE_SUM, value, axes, keepdims), 0);
}

Tensor all(const Tensor& x, Axes axes, bool keepdims, Loc loc) {
  OpScope scope("all", loc);
  return logical_not(any(logical_not(require(x, "x")), axes, keepdims));
}

Tensor argmax(const Tensor& x, std::int64_t axis, bool keepdims, bool last, Loc loc) {
  OpScope scope("argmax", loc);
  return arg_extreme(v1::REDUCE_MAX, x, axis, keepdims, last);
}

Tensor argmin(const Tensor& x, std::int64_t axis, bool keepdims, bool last, Loc loc) {
  OpScope scope("argmin", loc);
  return arg_extreme(v1::REDUCE_MIN, x, axis, keepdims, last);
}

Tensor cumsum(const Tensor& x, std::int64_t axis, bool exclusive, bool reverse, Loc loc) {
  OpScope scope("cumsum", loc);
  return cumulate(v1::REDUCE_SUM, 0, x, axis, exclusive, reverse);
}

Tensor cumprod(const Tensor& x, std::int64_t axis, bool exclusive, bool reverse, Loc loc) {
  OpScope scope("cumprod", loc);
  return cumulate(v1::REDUCE_PROD, 1, x, axis, exclusive, reverse);
}

Tensor softmax(const Tensor& x, std::int64_t axis, Loc loc) {
  OpScope scope("softmax", loc);
  if (num_elements(require(x, "x").shape()) == Dim(0)) return filled(x.shape(), 0.0, float_dtype(x));
  return in_full_width(x, [&](const Tensor& value) {
    const Tensor powers = exp(value - reduce(v1::REDUCE_MAX, value, {axis}, true));
    // One division a row; the product is within 1.5 ulp of the quotient.
    return powers * (1.0 / reduce(v1::REDUCE_SUM, powers, {axis}, true));
  });
}

Tensor log_softmax(const Tensor& x, std::int64_t axis, Loc loc) {
  OpScope scope("log_softmax", loc);
  if (num_elements(require(x, "x").shape()) == Dim(0)) return filled(x.shape(), 0.0, float_dtype(x));
  return in_full_width(x, [&](const Tensor& value) {
    const Tensor centred = value - reduce(v1::REDUCE_MAX, value, {axis}, true);
    return centred - log(reduce(v1::REDUCE_SUM, exp(centred), {axis}, true));
  });
}

Tensor logsumexp(const Tensor& x, Axes axes, bool keepdims, Loc loc) {
  OpScope scope("logsumexp", loc);
  return in_full_width(x, [&](const Tensor& value) {
    const Tensor top = finite_or_zero(reduce(v1::REDUCE_MAX, value, axes, true));
    const Tensor result = log(reduce(v1::REDUCE_SUM, exp(value - top), axes, true)) + top;
    return keepdims ? result : drop_axes(result, reduced_axes(value, axes));
  });
}

}  // namespace hearth::client
