#include "hearth/ops/scatter.h"

#include "base/text.h"
#include "client/ops/support.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/linear.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/reduce.h"

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

// data [n, ..], places integer [m..], updates [m.., ..]: those outside of [0, n) write nothing.
Tensor write_at(const Tensor& data, const Tensor& places, const Tensor& updates, ScatterReduction reduction) {
  Node node;
  node.op = v1::SCATTER;
  node.dtype = data.dtype();
  node.shape = data.shape();
  node.inputs = {data, places, updates};
  node.axes = {static_cast<std::int64_t>(reduction)};
  return make_node(std::move(node), Loc::current());
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
  Dim stride = 1;
  Tensor place;
  for (std::int64_t i = data.rank() - 1; i >= 0; --i) {
    const std::int64_t length = const_length(data, i, "since it is written by index");
    const std::int64_t given = const_length(indices, i, "since it says where updates go");
    if (i != axis && given > length) {
      fail_op(str_cat("'indices' is ", describe(indices), " and 'data' ", describe(data), "; expected no more than ",
                      length, " along axis ", i));
    }
    const Tensor along = i == axis ? wrapped(indices, length) : iota(indices.shape(), i, DType::kI64);
    const Tensor part = along * const_shape({stride})[0];
    place = place.empty() ? part : place + part;
    stride = stride * length;
  }
  if (num_elements(indices.shape()) == Dim(0) || stride == Dim(0)) return data;
  const Tensor at = wrapped(indices, data.dim(axis).value());
  const Tensor inside = bit_and(greater_equal(at, 0), less(at, data.dim(axis).value()));
  const Tensor written =
      write_at(reshape(data, {-1}), reshape(where(inside, place, -1), {-1}), reshape(updates, {-1}), reduction);
  return reshape_to(written, data.shape());
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
  for (std::int64_t i = 0; i < indices.rank(); ++i) const_length(indices, i, "since it says where updates go");
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
  const Tensor rows = reshape_to(data, {Dim(num_places), Dim(row)});
  const Tensor values = reshape_to(updates, {Dim(num_updates), Dim(row)});
  return reshape_to(write_at(rows, place, values, reduction), data.shape());
}

}  // namespace hearth::client
