#include "hearth/ops/compaction.h"

#include "base/text.h"
#include "client/ops/support.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/linear.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/reduce.h"
#include "hearth/ops/scatter.h"

namespace hearth::client {
namespace {

std::int64_t const_elements(const Tensor& x) {
  std::int64_t size = 1;
  for (std::int64_t i = 0; i < x.rank(); ++i) size *= const_length(x, i, "since the result's bound follows from it");
  return size;
}

// The positions (i64 [n]) of the true ones among flags [n], in order.
Compacted true_positions(const Tensor& flags) {
  const std::int64_t n = flags.dim(0).value();
  const Tensor ones = cast_to(flags, DType::kI32);
  const Tensor length = cast_to(reduce_sum(ones), DType::kI64);
  if (n == 0) return {filled({Dim(0)}, std::int64_t{0}, DType::kI64), length};
  // Each goes to the place that the number of those before it says, the others nowhere.
  const Tensor place = where(flags, cumsum(ones, 0, true), n);
  const Tensor none = filled({Dim(n)}, std::int64_t{0}, DType::kI64);
  return {scatter_elements(none, place, iota({Dim(n)}, 0, DType::kI64), 0), length};
}

// 0 from `length` on along `axis`.
Tensor cut_off(const Tensor& x, const Tensor& length, std::int64_t axis) {
  Shape along(x.shape().size(), Dim(1));
  along[static_cast<std::size_t>(axis)] = x.dim(axis);
  return where(less(iota(along, axis, DType::kI64), length), x, filled({}, std::int64_t{0}, x.dtype()));
}

}  // namespace

Compacted nonzero(const Tensor& x, Loc loc) {
  OpScope scope("nonzero", loc);
  const std::int64_t n = const_elements(require(x, "x"));
  const auto [at, length] = true_positions(cast(reshape_to(x, {Dim(n)}), DType::kBool));
  if (x.rank() == 0) return {filled({Dim(0), Dim(1)}, std::int64_t{0}, DType::kI64), length};
  std::vector<Tensor> coordinates;
  std::int64_t stride = n;
  for (std::int64_t i = 0; i < x.rank(); ++i) {
    const std::int64_t axis_length = x.dim(i).value();
    stride = axis_length == 0 ? 0 : stride / axis_length;
    coordinates.push_back(n == 0 ? at : floor_mod(floor_div(at, stride), axis_length));
  }
  return {cut_off(stack(coordinates, 0), length, 1), length};
}

Compacted compress(const Tensor& x, const Tensor& condition, std::int64_t axis, Loc loc) {
  OpScope scope("compress", loc);
  axis = normal_axis(axis, require(x, "x").rank());
  const std::int64_t length = const_length(x, axis, "since the result's bound follows from it");
  if (require(condition, "condition").dtype() != DType::kBool || condition.rank() != 1) {
    fail_op(str_cat("argument 'condition' is ", describe(condition), "; expected bool with one axis"));
  }
  const std::int64_t given = const_length(condition, 0, "since the result's bound follows from it");
  if (given > length) {
    fail_op(str_cat("argument 'condition' is ", describe(condition), "; expected at most ", length,
                    " elements, the length of axis ", axis));
  }
  const auto [at, count] = true_positions(condition);
  if (given == 0) return {slice(x, {{.axis = axis, .end = 0}}), count};
  return {cut_off(gather(x, at, axis), count, axis), count};
}

UniqueResult unique(const Tensor& x, std::optional<std::int64_t> given_axis, bool sorted, Loc loc) {
  OpScope scope("unique", loc);
  const std::int64_t size = const_elements(require(x, "x"));
  const std::int64_t axis = given_axis ? normal_axis(*given_axis, x.rank()) : 0;
  const Tensor source = given_axis ? x : reshape_to(x, {Dim(size)});
  const std::int64_t n = source.dim(axis).value();
  if (size == 0) fail_op(str_cat("argument 'x' is ", describe(x), "; expected at least one element"));
  const std::int64_t width = size / n;
  const Tensor slices = reshape(transpose(source, 0, axis), {n, width});
  // Slice i against every j: their first difference decides.
  const Tensor mine = unsqueeze(slices, {1}), other = unsqueeze(slices, {0});
  const Tensor below = orders_before(other, mine), above = orders_before(mine, other);
  const Tensor weight = Operand(width) - iota({Dim(n), Dim(n), Dim(width)}, 2, DType::kI32);
  const Tensor weights = where(bit_or(below, above), weight, 0);
  const Tensor decisive = reduce_max(weights, {2}, true);
  const Tensor is_equal = equal(squeeze(decisive, {2}), 0);
  const Tensor position = iota({Dim(n)}, 0, DType::kI32);
  const Tensor first = reduce_min(where(is_equal, position, n), {1});
  const Tensor is_first = equal(first, position);
  const Tensor comes_before =
      sorted ? any(bit_and(below, equal(weights, decisive)), {2}) : less(position, unsqueeze(first, {1}));
  const Tensor rank = reduce_sum(cast_to(bit_and(comes_before, is_first), DType::kI32), {1});
  const Tensor length = cast_to(reduce_sum(cast_to(is_first, DType::kI32)), DType::kI64);
  const Tensor member = equal(iota({Dim(n), Dim(n)}, 0, DType::kI32), rank);
  const Tensor indices = cut_off(cast_to(reduce_min(where(member, position, n), {1}), DType::kI64), length, 0);
  const Tensor counts = cast_to(reduce_sum(cast_to(member, DType::kI32), {1}), DType::kI64);
  return {cut_off(gather(source, indices, axis), length, axis), indices, cast_to(rank, DType::kI64), counts, length};
}

}  // namespace hearth::client
