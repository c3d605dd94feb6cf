#include "client/ops/scatter.h"

#include "client/ops/elementwise.h"
#include "client/ops/linear.h"
#include "client/ops/movement.h"
#include "client/ops/reduce.h"
#include "client/ops/support.h"
#include "runtime/text.h"

namespace hearth::client {
namespace {

void check_operands(const Tensor& data, const Tensor& indices, const Tensor& updates, ScatterReduction reduction) {
  require(data, "data");
  require_integer(indices, "indices");
  require(updates, "updates");
  if (data.dtype() != updates.dtype()) {
    fail_op(str_cat("'data' is ", describe(data), " and 'updates' is ", describe(updates), "; expected one dtype"));
  }
  if (reduction != ScatterReduction::kNone && data.dtype() == DType::kBool) {
    fail_op(str_cat("'data' is ", describe(data), "; expected numbers to combine"));
  }
}

// The last update that hits each place, -1 where none does. hit [.., m] -> [..]
Tensor last_hit(const Tensor& hit) {
  const Tensor at = iota(hit.shape(), hit.rank() - 1, DType::kI64);
  return reduce_max(where(hit, at, -1), {-1});
}

// data [..], hit [.., m], updates that broadcast to hit's shape -> [..]
Tensor combine(const Tensor& data, const Tensor& hit, const Tensor& updates, ScatterReduction reduction) {
  const auto chosen = [&](std::int64_t neutral) { return where(hit, updates, filled({}, neutral, data.dtype())); };
  if (reduction == ScatterReduction::kAdd) return data + cast_to(reduce_sum(chosen(0), {-1}), data.dtype());
  if (reduction == ScatterReduction::kMultiply) return data * cast_to(reduce_prod(chosen(1), {-1}), data.dtype());
  // The data itself stands where nothing hits, so no dtype needs a neutral value.
  const Tensor chosen_or_data = where(hit, updates, unsqueeze(data, {-1}));
  return reduction == ScatterReduction::kMinimum ? minimum(data, reduce_min(chosen_or_data, {-1}))
                                                 : maximum(data, reduce_max(chosen_or_data, {-1}));
}

// i64, negative ones counted from the end.
Tensor wrapped(const Tensor& indices, std::int64_t length) {
  const Tensor index = cast_to(indices, DType::kI64);
  return where(less(index, 0), index + length, index);
}

std::int64_t product(const Shape& shape, std::size_t begin, std::size_t end) {
  std::int64_t size = 1;
  for (std::size_t i = begin; i < end; ++i) size *= shape[i].value();
  return size;
}

}  // namespace

Tensor scatter_elements(const Tensor& data, const Tensor& indices, const Tensor& updates, std::int64_t axis,
                        ScatterReduction reduction, Loc loc) {
  OpScope scope("scatter_elements", loc);
  check_operands(data, indices, updates, reduction);
  axis = normal_axis(axis, data.rank());
  if (indices.rank() != data.rank() || !(indices.shape() == updates.shape())) {
    fail_op(str_cat("'data' is ", describe(data), ", 'indices' ", describe(indices), " and 'updates' ",
                    describe(updates), "; expected equal ranks, and one shape of indices and updates"));
  }
  Axes order;
  Shape beyond;  // how far data is longer than the indices, along the other axes
  for (std::int64_t i = 0; i < data.rank(); ++i) {
    const std::int64_t length = const_length(data, i, "since it is written by index");
    const std::int64_t given = const_length(indices, i, "since every index is looked at");
    if (i == axis) continue;
    if (given > length) {
      fail_op(str_cat("'indices' is ", describe(indices), " and 'data' ", describe(data), "; expected no more than ",
                      length, " along axis ", i));
    }
    order.push_back(i);
    beyond.emplace_back(length - given);
  }
  if (indices.dim(axis).value() == 0 || num_elements(data.shape()) == Dim(0)) return data;
  order.push_back(axis);
  beyond.emplace_back(0);
  const Shape none(beyond.size(), Dim(0));
  const std::int64_t length = data.dim(axis).value();
  // The axis goes last. Where data is longer, an index that hits nothing.
  const Tensor places = permute(data, order);
  const Tensor index = pad(permute(wrapped(indices, length), order), none, beyond, static_cast<double>(length));
  const Tensor values = pad(permute(updates, order), none, beyond);
  Shape pairs = places.shape();
  pairs.push_back(index.dim(-1));
  const Tensor hit = equal(unsqueeze(index, {-2}), iota(pairs, places.rank() - 1, DType::kI64));
  Tensor result;
  if (reduction == ScatterReduction::kNone) {
    const Tensor last = last_hit(hit);
    result = where(greater_equal(last, 0), gather_elements(values, maximum(last, 0), -1), places);
  } else {
    result = combine(places, hit, unsqueeze(values, {-2}), reduction);
  }
  Axes back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  return permute(result, back);
}

Tensor scatter_nd(const Tensor& data, const Tensor& indices, const Tensor& updates, ScatterReduction reduction,
                  Loc loc) {
  OpScope scope("scatter_nd", loc);
  check_operands(data, indices, updates, reduction);
  const std::int64_t depth = indices.rank() == 0 ? 0 : const_length(indices, -1, "since it counts indexed axes");
  if (depth < 1 || depth > data.rank()) {
    fail_op(str_cat("'indices' is ", describe(indices), "; expected a last axis of 1 to ", data.rank(),
                    " coordinates for 'data' ", describe(data)));
  }
  const auto split = static_cast<std::size_t>(depth);
  Shape expected(indices.shape().begin(), indices.shape().end() - 1);
  const std::size_t num_index_axes = expected.size();
  expected.insert(expected.end(), data.shape().begin() + depth, data.shape().end());
  if (!(updates.shape() == expected)) {
    fail_op(str_cat("'updates' is ", describe(updates), "; expected the shape ", to_string(expected), " for 'data' ",
                    describe(data), " and 'indices' ", describe(indices)));
  }
  for (std::int64_t i = 0; i < data.rank(); ++i) const_length(data, i, "since it is written by index");
  for (std::int64_t i = 0; i < indices.rank(); ++i) const_length(indices, i, "since every index is looked at");
  const std::int64_t num_places = product(data.shape(), 0, split),
                     row = product(data.shape(), split, data.shape().size());
  const std::int64_t num_updates = product(expected, 0, num_index_axes);
  if (num_updates == 0 || num_places * row == 0) return data;
  // The place each update goes to, -1 where a coordinate is outside.
  const Tensor coordinates = reshape_to(indices, {Dim(num_updates), Dim(depth)});
  Tensor place, inside;
  for (std::int64_t i = 0; i < depth; ++i) {
    const std::int64_t length = data.dim(i).value();
    const Tensor at = wrapped(select(coordinates, 1, i), length);
    const Tensor valid = bit_and(greater_equal(at, 0), less(at, length));
    place = place.empty() ? at : place * length + at;
    inside = inside.empty() ? valid : bit_and(inside, valid);
  }
  place = where(inside, place, -1);
  const Tensor places = reshape_to(data, {Dim(num_places), Dim(row)});
  const Tensor values = reshape_to(updates, {Dim(num_updates), Dim(row)});
  const Tensor hit = equal(unsqueeze(place, {0}), iota({Dim(num_places), Dim(num_updates)}, 0, DType::kI64));
  Tensor result;
  if (reduction == ScatterReduction::kNone) {
    const Tensor last = last_hit(hit);
    result = where(unsqueeze(greater_equal(last, 0), {1}), gather(values, maximum(last, 0), 0), places);
  } else {
    result = combine(places, unsqueeze(hit, {1}), unsqueeze(transpose(values, 0, 1), {0}), reduction);
  }
  return reshape_to(result, data.shape());
}

}  // namespace hearth::client
