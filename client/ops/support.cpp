#include "client/ops/support.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "client/tensor/elements.h"
#include "hearth/ops/elementwise.h"

namespace hearth::client {

void fail_op(std::string_view message) {
  const OpScope* scope = OpScope::outermost();
  fail(scope ? scope->op() : "op", message, scope ? scope->loc() : Loc::current());
}

std::string describe(const Tensor& x) { return str_cat(dtype_name(x.dtype()), " ", to_string(x.shape())); }

const Tensor& require(const Tensor& x, std::string_view argument) {
  if (x.empty()) fail_op(str_cat("argument '", argument, "' is an empty tensor; expected a recorded value"));
  return x;
}

const Tensor& require_integer(const Tensor& x, std::string_view argument) {
  require(x, argument);
  if (!is_integer(x.dtype())) {
    fail_op(str_cat("argument '", argument, "' is ", describe(x), "; expected an integer dtype"));
  }
  return x;
}

const Tensor& require_float(const Tensor& x, std::string_view argument) {
  if (!is_float(require(x, argument).dtype())) {
    fail_op(str_cat("argument '", argument, "' is ", describe(x), "; expected a float dtype"));
  }
  return x;
}

std::int64_t normal_axis(std::int64_t axis, std::int64_t rank) {
  if (axis < -rank || axis >= rank) {
    fail_op(str_cat("axis ", axis, " is out of range for ", rank, " axes; expected [", -rank, ", ", rank, ")"));
  }
  return axis < 0 ? axis + rank : axis;
}

Axes normal_axes(const Axes& axes, std::int64_t rank) {
  Axes normal;
  for (std::int64_t axis : axes) normal.push_back(normal_axis(axis, rank));
  std::sort(normal.begin(), normal.end());
  const auto twice = std::adjacent_find(normal.begin(), normal.end());
  if (twice != normal.end()) fail_op(str_cat("axis ", *twice, " is given twice"));
  return normal;
}

std::int64_t const_length(const Tensor& x, std::int64_t axis, std::string_view why) {
  const Dim& dim = x.dim(axis);
  if (!dim.is_const()) {
    fail_op(str_cat("axis ", axis, " of ", describe(x), " has the symbolic length ", dim.to_string(),
                    "; expected a constant, ", why));
  }
  return dim.value();
}

namespace {

Node node_of(v1::Op op, DType dtype, Shape shape, std::vector<Tensor> inputs) {
  Node node;
  node.op = op;
  node.dtype = dtype;
  node.shape = std::move(shape);
  node.inputs = std::move(inputs);
  return node;
}

Tensor record(Node node) { return make_node(std::move(node), OpScope::outermost()->loc()); }

}  // namespace

Tensor unary(v1::Op op, const Tensor& x) { return record(node_of(op, x.dtype(), x.shape(), {x})); }

Tensor to_float(const Tensor& x) { return is_float(x.dtype()) ? x : cast_to(x, DType::kF32); }

DType wide(DType dtype) { return dtype == DType::kF64 ? dtype : DType::kF32; }

Tensor to_wide(const Tensor& x) { return cast_to(x, wide(x.dtype())); }

DType float_dtype(const Tensor& x) { return is_float(x.dtype()) ? x.dtype() : DType::kF32; }

Tensor filled(const Shape& shape, double value, DType dtype) {
  if (!is_float(dtype)) {
    if (value != std::trunc(value) || std::fabs(value) > 9.2e18) {
      fail_op(str_cat("the value ", value, " is not representable as ", dtype_name(dtype)));
    }
    return filled(shape, static_cast<std::int64_t>(value), dtype);
  }
  Node node = node_of(v1::CONSTANT, dtype, shape, {});
  node.args = shape;
  node.data = encode_float(value, dtype);
  return record(std::move(node));
}

Tensor filled(const Shape& shape, std::int64_t value, DType dtype) {
  if (is_float(dtype)) return filled(shape, static_cast<double>(value), dtype);
  if (!fits(value, dtype)) fail_op(str_cat("the value ", value, " is not representable as ", dtype_name(dtype)));
  Node node = node_of(v1::CONSTANT, dtype, shape, {});
  node.args = shape;
  node.data = encode_integer(value, dtype);
  return record(std::move(node));
}

Tensor real_constant(Shape shape, const std::vector<double>& values, DType dtype) {
  std::string bytes;
  for (double value : values) bytes += encode_float(value, dtype);
  return constant(std::move(shape), dtype, std::move(bytes));
}

Tensor cast_to(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return record(node_of(v1::CAST, dtype, x.shape(), {x}));
}

Tensor exact_cast_to(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  const auto is_half = [](DType t) { return t == DType::kF16 || t == DType::kBF16; };
  Node node = node_of(v1::CAST, dtype, x.shape(), {x});
  if (is_half(dtype) || is_half(x.dtype())) node.axes = {1};
  return record(std::move(node));
}

Tensor reshape_to(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  // A reshape of a reshape is one reshape.
  const Tensor& source = x.node()->op == v1::RESHAPE ? x.node()->inputs[0] : x;
  if (source.shape() == shape) return source;
  Node node = node_of(v1::RESHAPE, x.dtype(), shape, {source});
  node.args = shape;
  return record(std::move(node));
}

Tensor expand_to(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  const std::size_t rank = x.shape().size();
  bool allowed = rank <= shape.size();
  for (std::size_t i = 0; allowed && i < rank; ++i) {
    const Dim& from = x.shape()[i];
    allowed = from == shape[shape.size() - rank + i] || from == Dim(1);
  }
  if (!allowed) {
    fail_op(str_cat("shape ", to_string(x.shape()), " does not broadcast to ", to_string(shape),
                    "; aligned from the right, each length must be equal or 1"));
  }
  Shape aligned(shape.size() - rank, Dim(1));
  aligned.insert(aligned.end(), x.shape().begin(), x.shape().end());
  Tensor source = reshape_to(x, aligned);
  if (aligned == shape) return source;
  Node node = node_of(v1::EXPAND, x.dtype(), shape, {source});
  node.args = shape;
  return record(std::move(node));
}

namespace {

DType dtype_of(const Operand& a, const Operand& b) {
  if (a.kind == Operand::Kind::kTensor && b.kind == Operand::Kind::kTensor) {
    return promote(a.tensor.dtype(), b.tensor.dtype());
  }
  const Operand& scalar = a.kind == Operand::Kind::kTensor ? b : a;
  const Operand& other = a.kind == Operand::Kind::kTensor ? a : b;
  if (other.kind != Operand::Kind::kTensor) fail_op("both operands are scalars; expected at least one tensor");
  const DType dtype = other.tensor.dtype();
  if (scalar.kind == Operand::Kind::kFloat && !is_float(dtype)) return DType::kF32;
  if (scalar.kind == Operand::Kind::kInteger && dtype == DType::kBool) {
    return fits(scalar.integer, DType::kI32) ? DType::kI32 : DType::kI64;
  }
  return dtype;
}

Tensor materialize(const Operand& operand, DType dtype, const Shape& shape) {
  if (operand.kind == Operand::Kind::kTensor) return expand_to(cast_to(operand.tensor, dtype), shape);
  if (operand.kind == Operand::Kind::kFloat) return filled(shape, operand.real, dtype);
  return filled(shape, operand.integer, dtype);
}

}  // namespace

std::pair<Tensor, Tensor> match(const Operand& a, const Operand& b) {
  const bool a_is_tensor = a.kind == Operand::Kind::kTensor, b_is_tensor = b.kind == Operand::Kind::kTensor;
  if (a_is_tensor) require(a.tensor, "a");
  if (b_is_tensor) require(b.tensor, "b");
  const DType dtype = dtype_of(a, b);
  Shape shape = a_is_tensor ? a.tensor.shape() : b.tensor.shape();
  if (a_is_tensor && b_is_tensor) {
    const OpScope* scope = OpScope::outermost();
    shape = broadcast_shapes(a.tensor.shape(), b.tensor.shape(), scope->op(), scope->loc());
  }
  return {materialize(a, dtype, shape), materialize(b, dtype, shape)};
}

Tensor binary(v1::Op op, const Operand& a, const Operand& b) {
  auto [x, y] = match(a, b);
  return record(node_of(op, x.dtype(), x.shape(), {x, y}));
}

Tensor compare(v1::Op op, const Operand& a, const Operand& b) {
  auto [x, y] = match(a, b);
  return record(node_of(op, DType::kBool, x.shape(), {x, y}));
}

Tensor orders_before(const Tensor& a, const Tensor& b) {
  if (!is_float(a.dtype())) return less(a, b);
  return bit_or(less(a, b), bit_and(is_nan(b), logical_not(is_nan(a))));
}

Tensor per_channel(const Tensor& vector, std::int64_t rank, std::string_view argument, const Dim& channels) {
  require(vector, argument);
  if (vector.rank() != 1 || !(vector.shape()[0] == channels)) {
    fail_op(str_cat("argument '", argument, "' is ", describe(vector), "; expected the shape [", channels.to_string(),
                    "], one element a channel"));
  }
  Shape shape(static_cast<std::size_t>(rank), Dim(1));
  shape[1] = channels;
  return reshape_to(vector, shape);
}

}  // namespace hearth::client
