#include "hearth/ops/elementwise.h"

#include <limits>

#include "base/text.h"
#include "client/ops/remainder.h"
#include "client/ops/support.h"
#include "client/tensor/elements.h"
#include "hearth/ops/trigonometry.h"

namespace hearth::client {
namespace {

Tensor float_function(v1::Op op, std::string_view name, const Tensor& x, const Loc& loc) {
  OpScope scope(name, loc);
  return unary(op, to_float(require(x, "x")));
}

Tensor rounding(v1::Op op, std::string_view name, const Tensor& x, const Loc& loc) {
  OpScope scope(name, loc);
  return is_float(require(x, "x").dtype()) ? unary(op, x) : x;
}

std::pair<Tensor, Tensor> match_integers(const Operand& a, const Operand& b, bool bool_allowed) {
  auto [x, y] = match(a, b);
  if (!is_integer(x.dtype()) && !(bool_allowed && x.dtype() == DType::kBool)) {
    fail_op(str_cat("the operands' dtype is ", dtype_name(x.dtype()), "; expected integers",
                    bool_allowed ? " or bool" : ""));
  }
  return {x, y};
}

// The sign of y, as numpy's mod and Python's %.
Tensor floored_remainder(const Tensor& x, const Tensor& y) {
  const Tensor rest = float_remainder(x, y);
  const Tensor differs = bit_and(not_equal(rest, 0.0), not_equal(less(rest, 0.0), less(y, 0.0)));
  return where(differs, rest + y, where(equal(rest, 0.0), copysign(rest, y), rest));
}

DType integer_width(const Tensor& x) { return x.dtype() == DType::kBool ? DType::kI32 : x.dtype(); }

// By squaring, for every bit that an exponent can have: exact where the power fits, else wrapped, as products are. A
// negative exponent gives the integer part: of 1 and -1 their powers, else 0.
Tensor integer_pow(const Tensor& base, const Tensor& exponent) {
  const int bits = static_cast<int>(dtype_bytes(base.dtype())) * 8 - (is_signed(base.dtype()) ? 1 : 0);
  Tensor power = filled(base.shape(), std::int64_t{1}, base.dtype()), square = base;
  for (int i = 0; i < bits; ++i) {
    power = where(not_equal(bit_and(shift_right(exponent, i), 1), 0), power * square, power);
    if (i + 1 < bits) square = square * square;
  }
  if (!is_signed(base.dtype())) return power;
  const Tensor is_odd = not_equal(bit_and(exponent, 1), 0);
  const Tensor of_negative = where(equal(base, 1), base, where(equal(base, -1), where(is_odd, base, 1), 0));
  return where(less(exponent, 0), of_negative, power);
}

}  // namespace

Tensor neg(const Tensor& x, Loc loc) { return -Operand(x, loc); }
Tensor recip(const Tensor& x, Loc loc) { return float_function(v1::RECIP, "recip", x, loc); }
Tensor sqrt(const Tensor& x, Loc loc) { return float_function(v1::SQRT, "sqrt", x, loc); }
Tensor exp(const Tensor& x, Loc loc) { return float_function(v1::EXP, "exp", x, loc); }
Tensor exp2(const Tensor& x, Loc loc) { return float_function(v1::EXP2, "exp2", x, loc); }
Tensor log(const Tensor& x, Loc loc) { return float_function(v1::LOG, "log", x, loc); }
Tensor log2(const Tensor& x, Loc loc) { return float_function(v1::LOG2, "log2", x, loc); }
Tensor sin(const Tensor& x, Loc loc) { return float_function(v1::SIN, "sin", x, loc); }
Tensor cos(const Tensor& x, Loc loc) { return float_function(v1::COS, "cos", x, loc); }
Tensor tanh(const Tensor& x, Loc loc) { return float_function(v1::TANH, "tanh", x, loc); }
Tensor erf(const Tensor& x, Loc loc) { return float_function(v1::ERF, "erf", x, loc); }
Tensor sigmoid(const Tensor& x, Loc loc) { return float_function(v1::SIGMOID, "sigmoid", x, loc); }
Tensor floor(const Tensor& x, Loc loc) { return rounding(v1::FLOOR, "floor", x, loc); }
Tensor ceil(const Tensor& x, Loc loc) { return rounding(v1::CEIL, "ceil", x, loc); }
Tensor round(const Tensor& x, Loc loc) { return rounding(v1::ROUND, "round", x, loc); }
Tensor trunc(const Tensor& x, Loc loc) { return rounding(v1::TRUNC, "trunc", x, loc); }

Tensor rsqrt(const Tensor& x, Loc loc) {
  OpScope scope("rsqrt", loc);
  return in_full_width(x, [](const Tensor& value) { return recip(sqrt(value)); });
}

Tensor tan(const Tensor& x, Loc loc) {
  OpScope scope("tan", loc);
  return in_full_width(x, [](const Tensor& value) { return sin(value) / cos(value); });
}

Tensor abs(const Tensor& x, Loc loc) {
  OpScope scope("abs", loc);
  require(x, "x");
  return is_signed(x.dtype()) ? unary(v1::ABS, x) : x;
}

Tensor sign(const Tensor& x, Loc loc) {
  OpScope scope("sign", loc);
  // x itself where neither holds keeps NaN and signed zero.
  if (!is_signed(require(x, "x").dtype())) return cast_to(not_equal(x, 0), x.dtype());
  return where(greater(x, 0), 1, where(less(x, 0), -1, x));
}

Tensor square(const Tensor& x, Loc loc) {
  OpScope scope("square", loc);
  return x * x;
}

Tensor logical_not(const Tensor& x, Loc loc) {
  OpScope scope("logical_not", loc);
  return unary(v1::NOT, cast(require(x, "x"), DType::kBool));
}

Tensor bitwise_not(const Tensor& x, Loc loc) {
  OpScope scope("bitwise_not", loc);
  return unary(v1::NOT, require_integer(x, "x"));
}

Tensor is_nan(const Tensor& x, Loc loc) {
  OpScope scope("is_nan", loc);
  return not_equal(x, x);
}

Tensor is_inf(const Tensor& x, Loc loc) {
  OpScope scope("is_inf", loc);
  return equal(abs(to_float(require(x, "x"))), std::numeric_limits<double>::infinity());
}

Tensor maximum(const Operand& a, const Operand& b) {
  OpScope scope("maximum", a.loc);
  return binary(v1::MAX, a, b);
}
Tensor minimum(const Operand& a, const Operand& b) {
  OpScope scope("minimum", a.loc);
  return binary(v1::MIN, a, b);
}
Tensor pow(const Operand& a, const Operand& b) {
  OpScope scope("pow", a.loc);
  auto [x, y] = match(a, b);
  if (!is_float(x.dtype())) return integer_pow(cast_to(x, integer_width(x)), cast_to(y, integer_width(x)));
  return binary(v1::POW, x, y);
}

Tensor trunc_div(const Operand& a, const Operand& b) {
  OpScope scope("trunc_div", a.loc);
  auto [x, y] = match_integers(a, b, false);
  return binary(v1::TRUNCDIV, x, y);
}

Tensor trunc_mod(const Operand& a, const Operand& b) {
  OpScope scope("trunc_mod", a.loc);
  auto [x, y] = match(a, b);
  if (is_float(x.dtype())) return float_remainder(x, y);
  match_integers(x, y, false);
  return binary(v1::TRUNCMOD, x, y);
}

Tensor floor_div(const Operand& a, const Operand& b) {
  OpScope scope("floor_div", a.loc);
  auto [x, y] = match(a, b);
  if (is_float(x.dtype())) {
    // By the exact remainder: x / y may round up to the next integer. A quotient of no remainder is IEEE's.
    const Tensor wide_x = to_wide(x), wide_y = to_wide(y), rest = floored_remainder(wide_x, wide_y);
    const Tensor ratio = wide_x / wide_y, quotient = round(where(equal(rest, 0.0), ratio, (wide_x - rest) / wide_y));
    const Tensor floored = where(is_nan(rest), floor(ratio), quotient);
    // A finite number by an infinity: nothing, or -1 where the signs differ.
    const Tensor below = where(less(wide_x, 0.0), greater(wide_y, 0.0), less(wide_y, 0.0));
    const Tensor by_infinity = where(bit_and(below, not_equal(wide_x, 0.0)), -1.0, ratio);
    const Tensor is_by_infinity = bit_and(is_inf(wide_y), not_equal(is_inf(wide_x), true));
    return cast_to(where(bit_and(is_by_infinity, not_equal(is_nan(wide_x), true)), by_infinity, floored), x.dtype());
  }
  match_integers(x, y, false);
  return binary(v1::FLOORDIV, x, y);
}

Tensor floor_mod(const Operand& a, const Operand& b) {
  OpScope scope("floor_mod", a.loc);
  auto [x, y] = match(a, b);
  if (is_float(x.dtype())) return cast_to(floored_remainder(to_wide(x), to_wide(y)), x.dtype());
  match_integers(x, y, false);
  return binary(v1::FLOORMOD, x, y);
}

Tensor less(const Operand& a, const Operand& b) {
  OpScope scope("less", a.loc);
  return compare(v1::LT, a, b);
}
Tensor less_equal(const Operand& a, const Operand& b) {
  OpScope scope("less_equal", a.loc);
  return compare(v1::LE, a, b);
}
Tensor greater(const Operand& a, const Operand& b) {
  OpScope scope("greater", a.loc);
  return compare(v1::LT, b, a);
}
Tensor greater_equal(const Operand& a, const Operand& b) {
  OpScope scope("greater_equal", a.loc);
  return compare(v1::LE, b, a);
}
Tensor equal(const Operand& a, const Operand& b) {
  OpScope scope("equal", a.loc);
  return compare(v1::EQ, a, b);
}
Tensor not_equal(const Operand& a, const Operand& b) {
  OpScope scope("not_equal", a.loc);
  return compare(v1::NE, a, b);
}

Tensor bit_and(const Operand& a, const Operand& b) {
  OpScope scope("bit_and", a.loc);
  auto [x, y] = match_integers(a, b, true);
  return binary(v1::AND, x, y);
}
Tensor bit_or(const Operand& a, const Operand& b) {
  OpScope scope("bit_or", a.loc);
  auto [x, y] = match_integers(a, b, true);
  return binary(v1::OR, x, y);
}
Tensor bit_xor(const Operand& a, const Operand& b) {
  OpScope scope("bit_xor", a.loc);
  auto [x, y] = match_integers(a, b, true);
  return binary(v1::XOR, x, y);
}
Tensor shift_left(const Operand& a, const Operand& b) {
  OpScope scope("shift_left", a.loc);
  auto [x, y] = match_integers(a, b, false);
  return binary(v1::SHL, x, y);
}
Tensor shift_right(const Operand& a, const Operand& b) {
  OpScope scope("shift_right", a.loc);
  auto [x, y] = match_integers(a, b, false);
  return binary(v1::SHR, x, y);
}

Tensor where(const Tensor& condition, const Operand& then, const Operand& otherwise) {
  OpScope scope("where", then.loc);
  require(condition, "condition");
  if (condition.dtype() != DType::kBool) {
    fail_op(str_cat("argument 'condition' is ", describe(condition), "; expected bool"));
  }
  if (then.kind != Operand::Kind::kTensor && otherwise.kind != Operand::Kind::kTensor) {
    fail_op("both 'then' and 'otherwise' are scalars; expected at least one tensor, which gives the dtype");
  }
  auto [a, b] = match(then, otherwise);
  const Shape shape = broadcast_shapes(condition.shape(), a.shape(), "where", then.loc);
  Node node;
  node.op = v1::WHERE;
  node.dtype = a.dtype();
  node.shape = shape;
  node.inputs = {expand_to(condition, shape), expand_to(a, shape), expand_to(b, shape)};
  return make_node(std::move(node), then.loc);
}

Tensor lerp(const Tensor& start, const Tensor& end, const Operand& weight) {
  OpScope scope("lerp", weight.loc);
  const DType dtype = promote(float_dtype(require(start, "start")), float_dtype(require(end, "end")));
  const Tensor from = cast_to(start, wide(dtype));
  return cast_to(from + (cast_to(end, wide(dtype)) - from) * weight,
                 weight.kind == Operand::Kind::kTensor ? promote(dtype, float_dtype(weight.tensor)) : dtype);
}

Tensor clip(const Tensor& x, const Operand& low, const Operand& high) {
  OpScope scope("clip", low.loc);
  return minimum(maximum(x, low), high);
}

Tensor cast(const Tensor& x, DType dtype, Loc loc) {
  OpScope scope("cast", loc);
  require(x, "x");
  if (dtype == DType::kBool && x.dtype() != DType::kBool) return not_equal(x, 0);
  return exact_cast_to(x, dtype);
}

Tensor saturating_cast(const Tensor& x, DType dtype, Loc loc) {
  OpScope scope("saturating_cast", loc);
  require(x, "x");
  const bool is_e4m3 = dtype == DType::kF8E4M3;
  if (!is_e4m3 && dtype != DType::kF8E5M2) {
    fail_op(str_cat("the dtype is ", dtype_name(dtype), "; expected f8e4m3 or f8e5m2"));
  }
  const std::int64_t greatest = is_e4m3 ? 448 : 57344;
  const bool can_exceed =
      is_float(x.dtype()) ? x.dtype() != dtype && x.dtype() != DType::kF8E4M3 : fits(greatest + 1, x.dtype());
  if (!can_exceed) return cast_to(x, dtype);
  const Tensor below = minimum(x, greatest);  // NaN stays
  return cast_to(is_signed(x.dtype()) ? maximum(below, -greatest) : below, dtype);
}

Tensor bitcast(const Tensor& x, DType dtype, Loc loc) {
  OpScope scope("bitcast", loc);
  require(x, "x");
  if (dtype_bytes(x.dtype()) != dtype_bytes(dtype)) {
    fail_op(str_cat("argument 'x' is ", describe(x), "; expected a dtype as wide as ", dtype_name(dtype)));
  }
  if (x.dtype() == dtype) return x;
  Node node;
  node.op = v1::BITCAST;
  node.dtype = dtype;
  node.shape = x.shape();
  node.inputs = {x};
  return make_node(std::move(node), loc);
}

Tensor contiguous(const Tensor& x, Loc loc) {
  OpScope scope("contiguous", loc);
  return unary(v1::CONTIGUOUS, require(x, "x"));
}

}  // namespace hearth::client
