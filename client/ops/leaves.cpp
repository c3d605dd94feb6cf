#include "hearth/tensor.h"

#include <cstring>

#include "base/fixed_memory.h"
#include "base/text.h"
#include "client/ops/support.h"
#include "client/tensor/elements.h"
#include "client/tensor/equal_lengths.h"
#include "hearth/ops/movement.h"

namespace hearth::client {
namespace {

constexpr std::size_t kMaxExpandedConstantBytes = std::size_t{64} << 20;

void check_dtype_size(const Shape& shape, DType dtype, std::size_t size, std::string_view what) {
  if (!is_const(shape)) {
    fail_op(str_cat(what, " has the symbolic shape ", to_string(shape), "; expected a constant shape"));
  }
  const std::int64_t expected = (num_elements(shape) * Dim(static_cast<std::int64_t>(dtype_bytes(dtype)))).value();
  if (static_cast<std::int64_t>(size) != expected) {
    fail_op(str_cat(what, " holds ", size, " bytes; ", dtype_name(dtype), " ", to_string(shape), " needs ", expected));
  }
}

Tensor leaf(v1::Op op, std::string_view name, Shape shape, DType dtype, ParameterData data) {
  if (name.empty()) fail_op("the name is empty; inputs and parameters are bound by name");
  Node node;
  node.op = op;
  node.dtype = dtype;
  node.shape = shape;
  node.args = std::move(shape);
  node.name = std::string(name);
  node.parameter = std::move(data);
  return make_node(std::move(node), OpScope::outermost()->loc());
}

}  // namespace

ParameterData own_bytes(std::string bytes) {
  auto owner = std::make_shared<const std::string>(std::move(bytes));
  return {owner->data(), owner->size(), owner};
}

ParameterData fixed_bytes(const void* data, std::size_t size, std::shared_ptr<const void> owner) {
  return {data, size, FixedMemory::add({static_cast<const char*>(data), size}, std::move(owner))};
}

DType Tensor::dtype() const {
  if (!node_) fail("dtype", "the tensor is an empty handle", Loc::current());
  return node_->dtype;
}

const Shape& Tensor::shape() const {
  if (!node_) fail("shape", "the tensor is an empty handle", Loc::current());
  return node_->shape;
}

const Dim& Tensor::dim(std::int64_t axis) const {
  const std::int64_t count = rank();
  if (axis < -count || axis >= count) {
    fail("dim", str_cat("axis ", axis, " is out of range for the shape ", to_string(shape())), Loc::current());
  }
  return shape()[static_cast<std::size_t>(axis < 0 ? axis + count : axis)];
}

std::optional<std::string> Tensor::constant_bytes() const {
  const Node* node = node_.get();
  while (node && node->op == v1::RESHAPE) node = node->inputs[0].node().get();
  if (!node || node->op != v1::CONSTANT || !is_const(node->shape)) return std::nullopt;
  const std::size_t width = dtype_bytes(node->dtype);
  const std::size_t count = static_cast<std::size_t>(num_elements(node->shape).value());
  if (node->data.size() == count * width) return node->data;
  if (count > kMaxExpandedConstantBytes / width) return std::nullopt;
  std::string bytes;
  bytes.reserve(count * width);
  for (std::size_t i = 0; i < count; ++i) bytes += node->data;
  return bytes;
}

Tensor input(std::string_view name, Shape shape, DType dtype, Loc loc) {
  OpScope scope("input", loc);
  return leaf(v1::INPUT, name, std::move(shape), dtype, {});
}

Tensor parameter(std::string_view name, Shape shape, DType dtype, ParameterData data, Loc loc) {
  OpScope scope("parameter", loc);
  check_dtype_size(shape, dtype, data.size, str_cat("parameter '", name, "'"));
  return leaf(v1::PARAMETER, name, std::move(shape), dtype, std::move(data));
}

Tensor parameter(Shape shape, DType dtype, ParameterData data, Loc loc) {
  OpScope scope("parameter", loc);
  check_dtype_size(shape, dtype, data.size, "the parameter");
  Node node;
  node.op = v1::PARAMETER;
  node.dtype = dtype;
  node.shape = shape;
  node.args = std::move(shape);
  node.parameter = std::move(data);
  node.is_unnamed = true;
  return make_node(std::move(node), loc);
}

Tensor constant(Shape shape, DType dtype, std::string bytes, Loc loc) {
  OpScope scope("constant", loc);
  check_dtype_size(shape, dtype, bytes.size(), "the constant");
  Node node;
  node.op = v1::CONSTANT;
  node.dtype = dtype;
  node.shape = shape;
  node.args = std::move(shape);
  node.data = std::move(bytes);
  return make_node(std::move(node), loc);
}

Tensor constant_f32(Shape shape, const std::vector<float>& values, Loc loc) {
  std::string bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  return constant(std::move(shape), DType::kF32, std::move(bytes), loc);
}

Tensor constant_i64(Shape shape, const std::vector<std::int64_t>& values, Loc loc) {
  std::string bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(std::int64_t));
  return constant(std::move(shape), DType::kI64, std::move(bytes), loc);
}

Tensor full(Shape shape, double value, DType dtype, Loc loc) {
  OpScope scope("full", loc);
  return filled(shape, value, dtype);
}

Tensor full_i64(Shape shape, std::int64_t value, DType dtype, Loc loc) {
  OpScope scope("full", loc);
  return filled(shape, value, dtype);
}

Tensor scalar(double value, DType dtype, Loc loc) {
  OpScope scope("scalar", loc);
  return filled({}, value, dtype);
}

Tensor iota(Shape shape, std::int64_t axis, DType dtype, Loc loc) {
  OpScope scope("iota", loc);
  if (dtype == DType::kBool) fail_op("dtype is bool; expected an integer or float dtype");
  Node node;
  node.op = v1::IOTA;
  node.dtype = dtype;
  node.axes = {normal_axis(axis, static_cast<std::int64_t>(shape.size()))};
  node.shape = shape;
  node.args = std::move(shape);
  return make_node(std::move(node), loc);
}

Tensor dim_value(const Dim& dim, DType dtype, Loc loc) {
  OpScope scope("dim_value", loc);
  if (dtype == DType::kBool) fail_op("dtype is bool; expected an integer or float dtype");
  if (!is_float(dtype) && !(fits(dim.min(), dtype) && fits(dim.max(), dtype))) {
    fail_op(str_cat("the values of ", dim.to_string(), ", ", dim.min(), " to ", dim.max(), ", do not all fit ",
                    dtype_name(dtype)));
  }
  if (dim.is_const()) return filled({}, dim.value(), dtype);
  // Graphs hold Dims in shapes only: the last element of [min, min + 1, …, dim].
  const Dim last = dim - dim.min();
  const Tensor counted = shrink(iota({last + 1}, 0, DType::kI64), {last}, {last + 1});
  return cast_to(reshape_to(counted, {}) + dim.min(), dtype);
}

Tensor arange(Dim length, DType dtype, Loc loc) {
  OpScope scope("arange", loc);
  return iota({std::move(length)}, 0, dtype, loc);
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::kBool) return b;
  if (b == DType::kBool) return a;
  if (is_float(a) != is_float(b)) return is_float(a) ? a : b;
  const std::size_t a_bytes = dtype_bytes(a), b_bytes = dtype_bytes(b);
  if (is_float(a)) {
    if (a_bytes != b_bytes) return a_bytes > b_bytes ? a : b;
    return a_bytes == 1 ? DType::kF16 : DType::kF32;  // the two 8-bit, or the two 16-bit formats
  }
  if (is_signed(a) == is_signed(b)) return a_bytes > b_bytes ? a : b;
  const std::size_t signed_bytes = is_signed(a) ? a_bytes : b_bytes;
  const std::size_t unsigned_bytes = is_signed(a) ? b_bytes : a_bytes;
  if (signed_bytes > unsigned_bytes) return is_signed(a) ? a : b;
  switch (unsigned_bytes) {
    case 1:
      return DType::kI16;
    case 2:
      return DType::kI32;
    default:
      return DType::kI64;
  }
}

Shape broadcast_shapes(const Shape& a, const Shape& b, std::string_view op, Loc loc) {
  const std::size_t rank = std::max(a.size(), b.size());
  Shape result(rank, Dim(1));
  for (std::size_t i = 0; i < rank; ++i) {
    const Dim one = i < a.size() ? a[a.size() - 1 - i] : Dim(1);
    const Dim two = i < b.size() ? b[b.size() - 1 - i] : Dim(1);
    if (!(one == two) && !(one == Dim(1)) && !(two == Dim(1))) {
      fail_unequal(op,
                   str_cat("shapes ", to_string(a), " and ", to_string(b),
                           " do not broadcast: aligned from the right, each length must be equal or 1, but ",
                           one.to_string(), " meets ", two.to_string()),
                   one, two, loc);
    }
    result[rank - 1 - i] = one == Dim(1) ? two : one;
  }
  return result;
}

namespace {

Tensor arithmetic(v1::Op op, std::string_view name, const Operand& a, const Operand& b) {
  OpScope scope(name, a.loc);
  auto [x, y] = match(a, b);
  if (x.dtype() == DType::kBool) {
    x = cast_to(x, DType::kI32);
    y = cast_to(y, DType::kI32);
  }
  return binary(op, x, y);
}

}  // namespace

Tensor operator+(const Operand& a, const Operand& b) { return arithmetic(v1::ADD, "add", a, b); }
Tensor operator-(const Operand& a, const Operand& b) { return arithmetic(v1::SUB, "subtract", a, b); }
Tensor operator*(const Operand& a, const Operand& b) { return arithmetic(v1::MUL, "multiply", a, b); }

Tensor operator/(const Operand& a, const Operand& b) {
  OpScope scope("divide", a.loc);
  auto [x, y] = match(a, b);
  return binary(v1::DIV, to_float(x), to_float(y));
}

Tensor operator-(const Operand& a) {
  OpScope scope("negate", a.loc);
  if (a.kind != Operand::Kind::kTensor) fail_op("the operand is a scalar; expected a tensor");
  const Tensor& x = require(a.tensor, "x");
  return unary(v1::NEG, x.dtype() == DType::kBool ? cast_to(x, DType::kI32) : x);
}

}  // namespace hearth::client
