#include "hearth/ops/linear.h"

#include "base/text.h"
#include "client/ops/support.h"
#include "client/tensor/equal_lengths.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/reduce.h"

namespace hearth::client {
namespace {

Tensor product(const Tensor& a, const Tensor& b) {
  Node node;
  node.op = v1::MATMUL;
  node.dtype = a.dtype();
  node.shape = a.shape();
  node.shape.back() = b.shape().back();
  node.inputs = {a, b};
  return make_node(std::move(node), OpScope::outermost()->loc());
}

}  // namespace

Tensor matmul(const Tensor& a_given, const Tensor& b_given, Loc loc) {
  OpScope scope("matmul", loc);
  const DType dtype = promote(require(a_given, "a").dtype(), require(b_given, "b").dtype());
  if (dtype == DType::kBool) fail_op("both operands are bool; cast one to a number");
  Tensor a = cast_to(a_given, dtype), b = cast_to(b_given, dtype);
  if (a.rank() == 0 || b.rank() == 0) {
    fail_op(str_cat("operands are ", describe(a), " and ", describe(b), "; expected at least one axis each"));
  }
  const bool row = a.rank() == 1, column = b.rank() == 1;
  if (row) a = unsqueeze(a, {0});
  if (column) b = unsqueeze(b, {1});
  if (!(a.dim(-1) == b.dim(-2))) {
    fail_unequal("matmul",
                 str_cat("operands are ", describe(a_given), " and ", describe(b_given), "; the inner lengths ",
                         a.dim(-1).to_string(), " and ", b.dim(-2).to_string(), " must be equal"),
                 a.dim(-1), b.dim(-2), loc);
  }
  Tensor result;
  if (b.rank() == 2 && a.rank() > 2) {
    // One matrix for the whole batch: rows of all batches in one product.
    Shape shape = a.shape();
    shape.back() = b.dim(-1);
    const Shape lead(a.shape().begin(), a.shape().end() - 1);
    const Dim rows = a.dim(-1).min() > 0 ? Dim(-1) : num_elements(lead);  // of nothing, -1 could be any number
    result = reshape_to(product(reshape(a, {rows, a.dim(-1)}), b), shape);
  } else {
    const Shape a_batch(a.shape().begin(), a.shape().end() - 2), b_batch(b.shape().begin(), b.shape().end() - 2);
    Shape a_shape = broadcast_shapes(a_batch, b_batch, "matmul", loc), b_shape = a_shape;
    a_shape.insert(a_shape.end(), {a.dim(-2), a.dim(-1)});
    b_shape.insert(b_shape.end(), {b.dim(-2), b.dim(-1)});
    result = product(expand_to(a, a_shape), expand_to(b, b_shape));
  }
  if (column) result = squeeze(result, {-1});
  if (row) result = squeeze(result, {column ? -1 : -2});
  return result;
}

Tensor linear(const Tensor& x, const Tensor& w, const Tensor& b, Loc loc) {
  OpScope scope("linear", loc);
  if (require(w, "w").rank() != 2) fail_op(str_cat("argument 'w' is ", describe(w), "; expected 2 axes, [n, k]"));
  if (b.empty()) return matmul(x, transpose(w, 0, 1));
  // The bias is added before a narrow sum is rounded.
  const DType dtype = promote(promote(require(x, "x").dtype(), w.dtype()), b.dtype());
  const bool narrow = is_float(dtype) && dtype_bytes(dtype) < 4;
  const auto factor = [&](const Tensor& value) { return narrow ? cast_to(value, DType::kF32) : value; };
  const Tensor result = matmul(factor(x), transpose(factor(w), 0, 1)) + factor(b);
  return narrow ? cast_to(result, dtype) : result;
}

Tensor gather(const Tensor& data, const Tensor& indices, std::int64_t axis, Loc loc) {
  OpScope scope("gather", loc);
  axis = normal_axis(axis, require(data, "data").rank());
  require_integer(indices, "indices");
  if (data.dim(axis).min() < 1) fail_op(str_cat("axis ", axis, " of ", describe(data), " may be empty"));
  Node node;
  node.op = v1::GATHER;
  node.dtype = data.dtype();
  node.shape.assign(data.shape().begin(), data.shape().begin() + axis);
  node.shape.insert(node.shape.end(), indices.shape().begin(), indices.shape().end());
  node.shape.insert(node.shape.end(), data.shape().begin() + axis + 1, data.shape().end());
  node.inputs = {data, indices};
  node.axes = {axis};
  return make_node(std::move(node), loc);
}

Tensor gather_elements(const Tensor& data, const Tensor& indices, std::int64_t axis, Loc loc) {
  OpScope scope("gather_elements", loc);
  const std::int64_t rank = require(data, "data").rank();
  axis = normal_axis(axis, rank);
  require_integer(indices, "indices");
  if (indices.rank() != rank) {
    fail_op(str_cat("'data' is ", describe(data), " and 'indices' is ", describe(indices),
                    "; expected the same number of axes"));
  }
  for (std::int64_t i = 0; i < rank; ++i) {
    if (i != axis && !(data.dim(i) == indices.dim(i)) && indices.dim(i).max() > data.dim(i).min()) {
      fail_op(str_cat("'data' is ", describe(data), " and 'indices' is ", describe(indices),
                      "; expected 'indices' to be no longer except along axis ", axis));
    }
  }
  // Positions in the flat data: each index, wrapped and clamped, plus the offset of its place along the other axes.
  const std::int64_t length = const_length(data, axis, "since it is indexed");
  if (length < 1) fail_op(str_cat("axis ", axis, " of ", describe(data), " is empty"));
  Tensor position = cast_to(indices, DType::kI64);
  position = clip(where(less(position, 0), position + length, position), 0, length - 1);
  Dim stride = 1;
  Tensor flat;
  for (std::int64_t i = rank - 1; i >= 0; --i) {
    const Tensor along = i == axis ? position : iota(indices.shape(), i, DType::kI64);
    const Tensor part = along * const_shape({stride})[0];
    flat = flat.empty() ? part : flat + part;
    if (i > 0) stride = stride * const_length(data, i, "since 'data' is addressed by element");
  }
  return gather(reshape(data, {-1}), flat, 0);
}

Tensor gather_nd(const Tensor& data, const Tensor& indices, std::int64_t batch_axes, Loc loc) {
  OpScope scope("gather_nd", loc);
  require(data, "data");
  require_integer(indices, "indices");
  if (batch_axes < 0 || batch_axes >= data.rank() || batch_axes >= indices.rank()) {
    fail_op(str_cat("batch_axes is ", batch_axes, "; expected 0 or more, and less than the axes of 'data' ",
                    describe(data), " and 'indices' ", describe(indices)));
  }
  const std::int64_t depth = const_length(indices, -1, "since it counts indexed axes");
  if (depth < 1 || batch_axes + depth > data.rank()) {
    fail_op(str_cat("'indices' is ", describe(indices), "; expected a last axis of 1 to ", data.rank() - batch_axes,
                    " coordinates for 'data' ", describe(data)));
  }
  std::int64_t batches = 1, places = 1;
  for (std::int64_t i = 0; i < batch_axes + depth; ++i) {
    const std::int64_t length = const_length(data, i, "since it is indexed");
    if (i < batch_axes && !(data.dim(i) == indices.dim(i))) {
      fail_op(str_cat("'data' is ", describe(data), " and 'indices' is ", describe(indices),
                      "; expected equal lengths along the first ", batch_axes, " axes"));
    }
    if (length < 1) fail_op(str_cat("axis ", i, " of ", describe(data), " is empty"));
    (i < batch_axes ? batches : places) *= length;
  }
  // The batch counts as the first coordinate of one flat axis.
  const Shape index_shape(indices.shape().begin(), indices.shape().end() - 1);
  Tensor place = iota({Dim(batches), Dim(1)}, 0, DType::kI64);
  const Tensor coordinates = reshape(cast_to(indices, DType::kI64), {batches, -1, depth});
  for (std::int64_t i = 0; i < depth; ++i) {
    const std::int64_t length = data.dim(batch_axes + i).value();
    const Tensor at = select(coordinates, -1, i);
    place = place * length + clip(where(less(at, 0), at + length, at), 0, length - 1);
  }
  Shape rows(data.shape().begin() + batch_axes + depth, data.shape().end());
  rows.insert(rows.begin(), batches * places);
  return gather(reshape_to(data, rows), reshape_to(place, index_shape), 0);
}

Tensor reverse_sequence(const Tensor& x, const Tensor& lengths, std::int64_t time_axis, std::int64_t batch_axis,
                        Loc loc) {
  OpScope scope("reverse_sequence", loc);
  const std::int64_t rank = require(x, "x").rank();
  const std::int64_t time = normal_axis(time_axis, rank), batch = normal_axis(batch_axis, rank);
  if (time == batch) fail_op(str_cat("time_axis and batch_axis are both ", time, "; expected two axes"));
  require_integer(lengths, "lengths");
  if (lengths.rank() != 1 || !(lengths.dim(0) == x.dim(batch))) {
    fail_op(str_cat("argument 'lengths' is ", describe(lengths), "; expected the shape [", x.dim(batch).to_string(),
                    "], one length a sequence"));
  }
  Shape along(x.shape().size(), Dim(1));
  along[static_cast<std::size_t>(batch)] = x.dim(batch);
  const Tensor length = reshape_to(cast_to(lengths, DType::kI64), along);
  const Tensor step = iota(x.shape(), time, DType::kI64);
  return gather_elements(x, where(less(step, length), length - 1 - step, step), time);
}

Tensor one_hot(const Tensor& indices, std::int64_t depth, DType dtype, std::int64_t axis, Loc loc) {
  OpScope scope("one_hot", loc);
  require_integer(indices, "indices");
  if (depth < 1) fail_op(str_cat("depth is ", depth, "; expected >= 1"));
  const std::int64_t at = normal_axis(axis, indices.rank() + 1);
  Tensor position = cast_to(indices, DType::kI64);
  position = unsqueeze(where(less(position, 0), position + depth, position), {at});
  Shape shape = position.shape();
  shape[static_cast<std::size_t>(at)] = depth;
  return cast_to(equal(position, iota(shape, at, DType::kI64)), dtype);
}

}  // namespace hearth::client
