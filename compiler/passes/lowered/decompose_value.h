// Value: a node with operators, so that a numerical method reads like its formula. Numbers take the dtype of the
// value they meet. Only for decompose*.cpp; refers to its graph, single-threaded.
//
//   Value r = x - n * kLn2High - n * kLn2Low;
//   return select(x < 0.0, -r, r);
#pragma once
#include <initializer_list>
#include <limits>

#include "compiler/ir/graph.h"

namespace hearth::passes {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Value {
  ir::Graph* graph;
  ir::UOpRef node;

  ir::DType dtype() const { return node->dtype; }
  bool is_f64() const { return node->dtype.scalar == ir::Scalar::F64; }
  Value number(double value) const { return {graph, graph->constant(dtype(), value)}; }
  Value whole(std::int64_t value) const { return {graph, graph->constant(dtype(), value)}; }
  Value unary(ir::Op op) const { return {graph, graph->unary(op, node)}; }
  Value binary(ir::Op op, Value other) const { return {graph, graph->binary(op, node, other.node)}; }
  Value to(ir::Scalar scalar) const { return {graph, graph->cast(node, ir::DType(scalar, dtype().lanes))}; }
};

inline Value operator-(Value a) { return a.unary(ir::Op::Neg); }
inline Value operator+(Value a, Value b) { return a.binary(ir::Op::Add, b); }
inline Value operator-(Value a, Value b) { return a.binary(ir::Op::Sub, b); }
inline Value operator*(Value a, Value b) { return a.binary(ir::Op::Mul, b); }
inline Value operator/(Value a, Value b) { return a.binary(ir::Op::Div, b); }
inline Value operator+(Value a, double b) { return a + a.number(b); }
inline Value operator-(Value a, double b) { return a - a.number(b); }
inline Value operator*(Value a, double b) { return a * a.number(b); }
inline Value operator+(double a, Value b) { return b.number(a) + b; }
inline Value operator-(double a, Value b) { return b.number(a) - b; }
inline Value operator/(double a, Value b) { return b.number(a) / b; }
inline Value operator<(Value a, Value b) { return a.binary(ir::Op::Lt, b); }
inline Value operator<(Value a, double b) { return a < a.number(b); }
inline Value operator<(double a, Value b) { return b.number(a) < b; }
inline Value operator==(Value a, Value b) { return a.binary(ir::Op::Eq, b); }
inline Value operator==(Value a, double b) { return a == a.number(b); }
inline Value operator!=(Value a, Value b) { return a.binary(ir::Op::Ne, b); }
inline Value operator!=(Value a, double b) { return a != a.number(b); }
// Bitwise for integers, logical for conditions.
inline Value operator&(Value a, Value b) { return a.binary(ir::Op::And, b); }
inline Value operator|(Value a, Value b) { return a.binary(ir::Op::Or, b); }
inline Value operator^(Value a, Value b) { return a.binary(ir::Op::Xor, b); }
inline Value operator!(Value a) { return a.unary(ir::Op::Not); }
inline Value operator<<(Value a, int amount) { return a.binary(ir::Op::Shl, a.whole(amount)); }
inline Value operator>>(Value a, int amount) { return a.binary(ir::Op::Shr, a.whole(amount)); }

inline Value abs(Value a) { return a.unary(ir::Op::Abs); }
inline Value trunc(Value a) { return a.unary(ir::Op::Trunc); }
inline Value select(Value condition, Value a, Value b) {
  return {a.graph, a.graph->where(condition.node, a.node, b.node)};
}
inline Value select(Value condition, double a, Value b) { return select(condition, b.number(a), b); }
inline Value select(Value condition, Value a, double b) { return select(condition, a, a.number(b)); }
// x, but no less than low and no more than high; NaN stays (one min and one max instruction).
inline Value clamp(Value x, double low, double high) {
  x = select(high < x, high, x);
  return select(x < low, low, x);
}

// The bits of a float as a signed integer of its width, and back.
inline Value bits(Value x) {
  ir::DType integer(x.is_f64() ? ir::Scalar::I64 : ir::Scalar::I32, x.dtype().lanes);
  return {x.graph, x.graph->make(ir::Op::Bitcast, integer, {x.node})};
}
inline Value from_bits(Value x) {
  ir::DType real(x.dtype().scalar == ir::Scalar::I64 ? ir::Scalar::F64 : ir::Scalar::F32, x.dtype().lanes);
  return {x.graph, x.graph->make(ir::Op::Bitcast, real, {x.node})};
}
// |magnitude| with the sign of `sign`; magnitude must not be negative.
inline Value with_sign(Value magnitude, Value sign) {
  Value b = bits(sign);
  std::int64_t mask =
      sign.is_f64() ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int32_t>::min();
  return from_bits(bits(magnitude) | (b & b.whole(mask)));
}

// c[0] + c[1] x + c[2] x^2 + ... by Horner's rule.
inline Value polynomial(Value x, std::initializer_list<double> c) {
  const double* coefficient = c.end();
  Value sum = x.number(*--coefficient);
  while (coefficient != c.begin()) sum = sum * x + *--coefficient;
  return sum;
}

// The upper half of the mantissa: products of two such are exact, so that fusing a multiply-add changes nothing.
inline Value high_half(Value x) {
  Value b = bits(x);
  return from_bits(b & b.whole(x.is_f64() ? ~std::int64_t{0xffffffff} : ~std::int64_t{0xfff}));
}

// The methods; x (and y) f32 or f64, all of one dtype.
// `scaleb`: whether the target has Op::ScaleB for the dtype.
Value lower_exp(Value x, bool scaleb);
Value lower_exp2(Value x, bool scaleb);
Value lower_sigmoid(Value x, bool scaleb);
Value lower_tanh(Value x, bool scaleb);
Value lower_erf(Value x, bool scaleb);
Value lower_log(Value x);
Value lower_log2(Value x);
Value lower_pow(Value x, Value y);
Value lower_sin(Value x);
Value lower_cos(Value x);

}  // namespace hearth::passes
