// Arithmetic, comparison and logic operators, Where, Cast and Clip.
#include <cmath>
#include <optional>

#include "absl/strings/numbers.h"
#include "base/text.h"
#include "client/onnx/host_math.h"
#include "client/onnx/model_file.h"
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "client/tensor/elements.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/trigonometry.h"
#include "hearth_onnx.pb.h"

namespace hearth::onnx {
namespace {

using client::Tensor;

// ONNX never promotes: operands have one type.
void check_same_type(const Value& a, const Value& b) {
  if (a.dtype() == b.dtype()) return;
  reject(str_cat("operands have types ", dtype_name(a.dtype()), " and ", dtype_name(b.dtype())));
}

// Before opset 7 (8 for Min, Max, Sum and Mean) nothing broadcasts by itself.
void check_same_shape(const Value& a, const Value& b) {
  if (a.dims() == b.dims()) return;
  reject(str_cat("shapes ", client::to_string(a.dims()), " and ", client::to_string(b.dims()),
                 " differ; this opset broadcasts only ", "where an attribute broadcast = 1 is known and given"));
}

bool both_known(const Value& a, const Value& b) {
  return a.is_host() && b.is_host() && can_fold({&a.host(), &b.host()});
}

// Before opset 7 the second operand is broadcast only when asked, its axes lying from `axis` of the first one on.
Value second_operand(NodeContext& node) {
  const Value& a = node.input(0);
  const Value& b = node.input(1);
  if (node.opset() >= 7) return b;
  const bool broadcasts = node.integer("broadcast", 0) != 0;
  const std::int64_t axis = node.integer("axis", a.rank() - b.rank());
  if (!broadcasts) check_same_shape(a, b);
  if (!broadcasts || b.rank() == 0) return b;
  if (axis < 0 || axis + b.rank() > a.rank()) {
    reject(str_cat("axis ", axis, " does not place ", client::to_string(b.dims()), " within ",
                   client::to_string(a.dims())));
  }
  client::Shape shape = b.dims();
  shape.resize(static_cast<std::size_t>(a.rank() - axis), 1);
  return Value(client::reshape(b.tensor(), shape));
}

// The result where both operands are known while importing, up to symbolic lengths; else empty.
Value folded(const NodeContext& node, HostBinary op, const Value& a, const Value& b) {
  if (both_known(a, b)) return node.made(host_binary(op, a.host(), b.host()));
  if (!a.is_lengths() && !b.is_lengths()) return Value();
  const std::optional<Lengths> x = a.lengths(), y = b.lengths();
  const std::optional<Lengths> result = x && y ? lengths_binary(op, *x, *y) : std::nullopt;
  return result ? node.made(*result) : Value();
}

template <typename Record>
Values binary(NodeContext& node, HostBinary op, Record record) {
  const Value& a = node.input(0);
  const Value b = second_operand(node);
  check_same_type(a, b);
  const Value known = folded(node, op, a, b);
  return {known.empty() ? Value(record(a.tensor(), b.tensor())) : known};
}

template <typename Record>
Values unary(NodeContext& node, std::optional<HostUnary> op, Record record) {
  const Value& x = node.input(0);
  if (op && x.is_host() && can_fold(x.host(), *op)) return {node.made(host_unary(*op, x.host()))};
  if (x.is_lengths() && (op == HostUnary::kFloor || op == HostUnary::kCeil)) {
    const Rounding rounding = op == HostUnary::kFloor ? Rounding::kDown : Rounding::kUp;
    if (const std::optional<Lengths> whole = lengths_rounded(*x.lengths(), rounding)) return {node.made(*whole)};
  }
  return {Value(record(x.tensor()))};
}

Values add(NodeContext& node) {
  return binary(node, HostBinary::kAdd, [](const Tensor& a, const Tensor& b) { return a + b; });
}
Values sub(NodeContext& node) {
  return binary(node, HostBinary::kSub, [](const Tensor& a, const Tensor& b) { return a - b; });
}
Values mul(NodeContext& node) {
  return binary(node, HostBinary::kMul, [](const Tensor& a, const Tensor& b) { return a * b; });
}
Values div(NodeContext& node) {
  return binary(node, HostBinary::kDiv,
                [](const Tensor& a, const Tensor& b) { return is_float(a.dtype()) ? a / b : client::trunc_div(a, b); });
}
Values mod(NodeContext& node) {
  const bool truncating = node.integer("fmod", 0) != 0;
  constexpr int kFloored = 28;  // first opset of floats without fmod
  if (!truncating && node.opset() < kFloored && is_float(node.input(0).dtype()))
    reject(str_cat("floats need fmod = 1 before opset ", kFloored));
  return binary(node, truncating ? HostBinary::kTruncMod : HostBinary::kFloorMod,
                [truncating](const Tensor& a, const Tensor& b) {
                  return truncating ? client::trunc_mod(a, b) : client::floor_mod(a, b);
                });
}

// Min, Max, Sum and Mean take any number of operands.
template <typename Record>
Values variadic(NodeContext& node, HostBinary op, Record record) {
  Value result = node.input(0);
  for (std::size_t i = 1; i < node.num_inputs(); ++i) {
    const Value& next = node.input(i);
    check_same_type(node.input(0), next);
    if (node.opset() < 8) check_same_shape(result, next);
    const Value known = folded(node, op, result, next);
    result = known.empty() ? Value(record(result.tensor(), next.tensor())) : known;
  }
  return {result};
}
Values minimum(NodeContext& node) {
  return variadic(node, HostBinary::kMin, [](const Tensor& a, const Tensor& b) { return client::minimum(a, b); });
}
Values maximum(NodeContext& node) {
  return variadic(node, HostBinary::kMax, [](const Tensor& a, const Tensor& b) { return client::maximum(a, b); });
}
// All operands' sum, narrow floats in f32.
Value total(NodeContext& node) {
  const DType dtype = node.input(0).dtype();
  if (!is_float(dtype) || dtype_bytes(dtype) >= 4) {
    return variadic(node, HostBinary::kAdd, [](const Tensor& a, const Tensor& b) { return a + b; })[0];
  }
  Tensor sum = widened(node.tensor(0));
  for (std::size_t i = 1; i < node.num_inputs(); ++i) {
    check_same_type(node.input(0), node.input(i));
    if (node.opset() < 8) check_same_shape(node.input(0), node.input(i));
    sum = sum + node.tensor(i);
  }
  return Value(sum);
}
Value rounded(const NodeContext& node, const Value& x) {
  return x.dtype() == node.input(0).dtype() ? x : Value(node.rounded(x.tensor()));
}
Values sum(NodeContext& node) { return {rounded(node, total(node))}; }
Values mean(NodeContext& node) {
  return {rounded(node, Value(widened(total(node).tensor()) / static_cast<double>(node.num_inputs())))};
}

// x^0.5 by C's rules: of -infinity it is infinity, of -0 it is 0.
Tensor square_root_power(const Tensor& x) {
  const Tensor positive = client::where(client::equal(x, 0.0), 0.0, x);  // not a sum with 0: drivers leave that out
  return client::sqrt(client::where(client::equal(x, -INFINITY), INFINITY, positive));
}

constexpr double kMaxSquarings = 1 << 30;  // of known exponents: 30 products and as many again

Tensor integer_power(const Tensor& x, std::int64_t power) {
  Tensor square = x, result = client::full_i64(x.shape(), 1, x.dtype());
  for (; power > 0; power >>= 1) {
    if (power & 1) result = result * square;
    if (power > 1) square = client::square(square);
  }
  return result;
}

// The exponent's type may differ from the base's; the result has the base's.
Values pow(NodeContext& node) {
  const Value& base = node.input(0);
  const Value exponent = second_operand(node);
  if (base.dtype() == exponent.dtype() && both_known(base, exponent)) {
    return {node.made(host_binary(HostBinary::kPow, base.host(), exponent.host()))};
  }
  const Tensor x = widened(base.tensor());
  // A known scalar exponent becomes plain arithmetic, which is exact and cheaper.
  if (exponent.is_host() && exponent.host().size() == 1 && exponent.rank() <= base.rank() &&
      can_fold(exponent.host())) {
    const double power = exponent.host().real(0);
    if (power == 1) return {base};
    if (power == 2) return {Value(node.rounded(client::square(x)))};
    if (power == 3) return {Value(node.rounded(client::square(x) * x))};
    if (is_float(base.dtype())) {
      if (power == 0.5) return {Value(node.rounded(square_root_power(x)))};
      if (power == -1) return {Value(client::recip(base.tensor()))};
      if (power == -0.5) return {Value(node.rounded(client::recip(square_root_power(x))))};
    }
    if (is_integer(base.dtype()) && power >= 0 && power == std::trunc(power) && power <= kMaxSquarings)
      return {Value(integer_power(x, static_cast<std::int64_t>(power)))};
  }
  const bool base_is_two = base.is_host() && base.host().size() == 1 && base.rank() <= exponent.rank() &&
                           can_fold(base.host()) && base.host().real(0) == 2;
  if (base_is_two && base.dtype() == exponent.dtype() && is_float(base.dtype())) {
    return {Value(client::exp2(exponent.tensor()))};
  }
  const Tensor power = widened(exponent.tensor());
  if (is_integer(base.dtype()) && is_float(exponent.dtype())) {  // f32 would not hold the base
    return {Value(node.rounded(client::pow(client::cast(x, DType::kF64), client::cast(power, DType::kF64))))};
  }
  if (is_integer(base.dtype()) && base.dtype() != exponent.dtype()) {
    // Products wrap, so their low digits are the same in any wider type.
    const Tensor wide = client::pow(client::cast(x, DType::kI64), client::cast(power, DType::kI64));
    return {Value(node.rounded(wide))};
  }
  return {Value(node.rounded(client::pow(x, power)))};
}

Values equal(NodeContext& node) {
  return binary(node, HostBinary::kEqual, [](const Tensor& a, const Tensor& b) { return client::equal(a, b); });
}
Values less(NodeContext& node) {
  return binary(node, HostBinary::kLess, [](const Tensor& a, const Tensor& b) { return client::less(a, b); });
}
Values less_equal(NodeContext& node) {
  return binary(node, HostBinary::kLessEqual,
                [](const Tensor& a, const Tensor& b) { return client::less_equal(a, b); });
}
Values greater(NodeContext& node) {
  return binary(node, HostBinary::kGreater, [](const Tensor& a, const Tensor& b) { return client::greater(a, b); });
}
Values greater_equal(NodeContext& node) {
  return binary(node, HostBinary::kGreaterEqual,
                [](const Tensor& a, const Tensor& b) { return client::greater_equal(a, b); });
}
Values logical_and(NodeContext& node) {
  return binary(node, HostBinary::kAnd, [](const Tensor& a, const Tensor& b) { return client::bit_and(a, b); });
}
Values logical_or(NodeContext& node) {
  return binary(node, HostBinary::kOr, [](const Tensor& a, const Tensor& b) { return client::bit_or(a, b); });
}
Values logical_xor(NodeContext& node) {
  return binary(node, HostBinary::kXor, [](const Tensor& a, const Tensor& b) { return client::bit_xor(a, b); });
}
Values bit_shift(NodeContext& node) {
  const std::string direction = node.text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") reject("attribute direction must be LEFT or RIGHT");
  check_same_type(node.input(0), node.input(1));
  const Tensor& x = node.tensor(0);
  const Tensor& by = node.tensor(1);
  return {Value(direction == "LEFT" ? client::shift_left(x, by) : client::shift_right(x, by))};
}

Values logical_not(NodeContext& node) {
  return unary(node, HostUnary::kNot, [](const Tensor& x) { return client::logical_not(x); });
}
Values neg(NodeContext& node) {
  if (const Value& x = node.input(0); x.is_lengths() && !is_float(x.dtype())) {
    const Lengths zeros = {x.dtype(), x.shape(), client::Shape(x.lengths()->elements.size(), 0), {}};
    if (const auto result = lengths_binary(HostBinary::kSub, zeros, *x.lengths())) return {node.made(*result)};
  }
  return unary(node, HostUnary::kNeg, [](const Tensor& x) { return client::neg(x); });
}
Values abs(NodeContext& node) {
  return unary(node, HostUnary::kAbs, [](const Tensor& x) { return client::abs(x); });
}
Values floor(NodeContext& node) {
  return unary(node, HostUnary::kFloor, [](const Tensor& x) { return client::floor(x); });
}
Values ceil(NodeContext& node) {
  return unary(node, HostUnary::kCeil, [](const Tensor& x) { return client::ceil(x); });
}
Values sqrt(NodeContext& node) {
  return unary(node, HostUnary::kSqrt, [](const Tensor& x) { return client::sqrt(x); });
}
Values sign(NodeContext& node) {
  return unary(node, HostUnary::kSign, [](const Tensor& x) { return client::sign(x); });
}

template <Tensor (*kRecord)(const Tensor&, client::Loc)>
Values recorded(NodeContext& node) {
  return {Value(kRecord(node.tensor(0), client::Loc::current()))};
}

Values is_inf(NodeContext& node) {
  const bool negative = node.integer("detect_negative", 1) != 0;
  const bool positive = node.integer("detect_positive", 1) != 0;
  const Tensor& x = node.tensor(0);
  if (negative && positive) return {Value(client::is_inf(x))};
  const Tensor infinite = client::is_inf(x);
  if (!negative && !positive) return {Value(client::bit_and(infinite, client::logical_not(infinite)))};
  return {Value(client::bit_and(infinite, positive ? client::greater(x, 0) : client::less(x, 0)))};
}

Values where(NodeContext& node) {
  const Value& condition = node.input(0);
  const Value& a = node.input(1);
  const Value& b = node.input(2);
  check_same_type(a, b);
  if (condition.is_host() && both_known(a, b) && can_fold({&condition.host(), &a.host(), &b.host()}))
    return {node.made(host_where(condition.host(), a.host(), b.host()))};
  if (condition.is_host() && (a.is_lengths() || b.is_lengths()) && a.lengths() && b.lengths()) {
    return {node.made(lengths_where(condition.host(), *a.lengths(), *b.lengths()))};
  }
  return {Value(client::where(condition.tensor(), a.tensor(), b.tensor()))};
}

constexpr int kBoundsInput = 11;  // first opset; attributes before

// Clip of lengths that are known up to variables, between bounds that are, too; else empty.
Value clipped_lengths(const NodeContext& node) {
  if (!node.input(0).is_lengths()) return Value();
  std::optional<Lengths> result = node.input(0).lengths();
  for (std::size_t i : {1, 2}) {
    if (!node.has_input(i)) continue;
    const std::optional<Lengths> bound = node.input(i).lengths();
    if (!result || !bound || bound->elements.size() != 1 || bound->dtype != result->dtype) return Value();
    result = lengths_binary(i == 1 ? HostBinary::kMax : HostBinary::kMin, *result, *bound);
  }
  return result ? node.made(*result) : Value();
}

Values clip(NodeContext& node) {
  Tensor x = node.tensor(0);
  const DType dtype = x.dtype();
  if (node.opset() < kBoundsInput) {
    for (std::size_t i : {1, 2}) node.expect_no_input(i, "a bound", kBoundsInput);
    if (node.has("min")) x = client::maximum(x, node.real("min", 0));
    if (node.has("max")) x = client::minimum(x, node.real("max", 0));
    return {Value(x)};
  }
  if (const Value clipped = clipped_lengths(node); !clipped.empty()) return {clipped};
  for (std::size_t i : {1, 2}) {
    if (!node.has_input(i)) continue;
    if (node.input(i).dtype() != dtype) reject("min and max must have the input's type");
    if (!(client::num_elements(node.input(i).dims()) == client::Dim(1))) reject("min and max must be scalars");
    const Tensor& bound = node.tensor(i);
    x = i == 1 ? client::maximum(x, bound) : client::minimum(x, bound);
  }
  return {Value(x)};
}

constexpr OperatorEntry kOperators[] = {
    {"Add", add},
    {"Sub", sub},
    {"Mul", mul},
    {"Div", div},
    {"Mod", mod, 10},
    {"Pow", pow},
    {"Min", minimum},
    {"Max", maximum},
    {"Sum", sum},
    {"Mean", mean},
    {"Equal", equal},
    {"Less", less},
    {"LessOrEqual", less_equal, 12},
    {"Greater", greater},
    {"GreaterOrEqual", greater_equal, 12},
    {"And", logical_and},
    {"Or", logical_or},
    {"Xor", logical_xor},
    {"BitwiseAnd", logical_and, 18},
    {"BitwiseOr", logical_or, 18},
    {"BitwiseXor", logical_xor, 18},
    {"BitwiseNot", recorded<client::bitwise_not>, 18},
    {"BitShift", bit_shift, 11},
    {"Not", logical_not},
    {"Neg", neg},
    {"Abs", abs},
    {"Floor", floor},
    {"Ceil", ceil},
    {"Sqrt", sqrt},
    {"Sign", sign, 9},
    {"Reciprocal", recorded<client::recip>},
    {"Exp", recorded<client::exp>},
    {"Log", recorded<client::log>},
    {"Sin", recorded<client::sin>, 7},
    {"Cos", recorded<client::cos>, 7},
    {"Tan", recorded<client::tan>, 7},
    {"Asin", recorded<client::asin>, 7},
    {"Acos", recorded<client::acos>, 7},
    {"Atan", recorded<client::atan>, 7},
    {"Sinh", recorded<client::sinh>, 9},
    {"Cosh", recorded<client::cosh>, 9},
    {"Asinh", recorded<client::asinh>, 9},
    {"Acosh", recorded<client::acosh>, 9},
    {"Atanh", recorded<client::atanh>, 9},
    {"Erf", recorded<client::erf>, 9},
    {"Round", recorded<client::round>, 11},
    {"IsNaN", recorded<client::is_nan>, 9},
    {"IsInf", is_inf, 10},
    {"Where", where, 9},
    {"Clip", clip},
};

}  // namespace

std::span<const OperatorEntry> elementwise_operators() { return kOperators; }

}  // namespace hearth::onnx
