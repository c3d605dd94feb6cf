// What the op families share: checked operands, axes, broadcasting and node making. Inside client/ only.
// Every function fails (JitError) with the outermost op's name and line, see client/tensor/op_scope.h.
//
//   OpScope scope("sqrt", loc);
//   return unary(v1::SQRT, to_float(require(x, "x")));
#pragma once
#include <string_view>
#include <utility>
#include <vector>

#include "client/tensor/op_scope.h"
#include "client/trace/node.h"
#include "hearth/tensor.h"

namespace hearth::client {

// Fails under the current OpScope.
[[noreturn]] void fail_op(std::string_view message);
// "f32 [2, 3]"
std::string describe(const Tensor& x);

const Tensor& require(const Tensor& x, std::string_view argument);          // not an empty handle
const Tensor& require_integer(const Tensor& x, std::string_view argument);  // an integer dtype
const Tensor& require_float(const Tensor& x, std::string_view argument);    // a float dtype
std::int64_t normal_axis(std::int64_t axis, std::int64_t rank);             // into [0, rank)
Axes normal_axes(const Axes& axes, std::int64_t rank);                      // likewise, sorted, unique
std::int64_t const_length(const Tensor& x, std::int64_t axis, std::string_view why);

Tensor unary(v1::Op op, const Tensor& x);
Tensor to_float(const Tensor& x);  // integers and bool become f32
// What coordinates, scales, sums and every formula of more than one op are computed in: f64 for f64, else f32.
DType wide(DType dtype);
Tensor to_wide(const Tensor& x);
DType float_dtype(const Tensor& x);  // of a formula's result: x's own, f32 for integers and bool
// formula(x in its wide dtype), rounded once.
template <typename Formula>
Tensor in_full_width(const Tensor& x, Formula formula);
// Operands in one dtype and one shape; a scalar becomes a filled constant.
std::pair<Tensor, Tensor> match(const Operand& a, const Operand& b);
// Both matched; the result has the operands' dtype, or BOOL for a comparison.
Tensor binary(v1::Op op, const Operand& a, const Operand& b);
Tensor compare(v1::Op op, const Operand& a, const Operand& b);

// Where a comes before b in ascending order, NaN last; operands broadcast.
Tensor orders_before(const Tensor& a, const Tensor& b);

// A filled constant; fails when an integer dtype cannot hold the value.
Tensor filled(const Shape& shape, double value, DType dtype);
Tensor filled(const Shape& shape, std::int64_t value, DType dtype);

// A constant of all its elements; a float dtype.
Tensor real_constant(Shape shape, const std::vector<double>& values, DType dtype);

// The same tensor when nothing changes. Where f16 or bf16 is cast the value may be the one that was computed in f32: for
// what an op makes on its way.
Tensor cast_to(const Tensor& x, DType dtype);
// The same, but f16 and bf16 have the digits of their type: the cast that a user writes.
Tensor exact_cast_to(const Tensor& x, DType dtype);
Tensor reshape_to(const Tensor& x, const Shape& shape);
Tensor expand_to(const Tensor& x, const Shape& shape);
// A vector of length C as [1, C, 1, …] of `rank` axes, for per-channel arithmetic.
Tensor per_channel(const Tensor& vector, std::int64_t rank, std::string_view argument, const Dim& channels);

template <typename Formula>
Tensor in_full_width(const Tensor& x, Formula formula) {
  const Tensor operand = to_wide(require(x, "x"));
  return cast_to(formula(operand), float_dtype(x));
}

}  // namespace hearth::client
