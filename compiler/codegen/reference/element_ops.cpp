#include "compiler/codegen/reference/element_ops.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace hearth::codegen::reference {
namespace {

using ir::Op;
using ir::Scalar;
using Wide = __int128;

absl::Status undefined(Op op, Scalar scalar) {
  return absl::InvalidArgumentError(
      absl::StrCat("reference: ", std::string(ir::op_name(op)), " is not defined for ", ir::to_string(scalar)));
}

bool is_unsigned(Scalar scalar) { return ir::is_unsigned_int(scalar) || scalar == Scalar::Bool; }

// The mathematical value of an integer element.
Wide widen(Scalar scalar, Element x) {
  return scalar == Scalar::U64 ? static_cast<Wide>(static_cast<std::uint64_t>(x.i)) : static_cast<Wide>(x.i);
}

absl::StatusOr<Element> narrow(Op op, Scalar scalar, Wide value) {
  if (scalar == Scalar::Index &&
      (value < std::numeric_limits<std::int64_t>::min() || value > std::numeric_limits<std::int64_t>::max())) {
    return absl::OutOfRangeError(absl::StrCat("reference: index ", std::string(ir::op_name(op)), " leaves int64"));
  }
  return Element::of_int(wrap_int(scalar, static_cast<std::int64_t>(static_cast<unsigned __int128>(value))));
}

double max_float(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : (a < b ? b : a); }
double min_float(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : (b < a ? b : a); }

absl::StatusOr<double> float_unary(Op op, Scalar scalar, double x) {
  switch (op) {
    case Op::Neg:
      return -x;
    case Op::Recip:
      return 1.0 / x;
    case Op::Sqrt:
      return std::sqrt(x);
    case Op::Exp:
      return std::exp(x);
    case Op::Exp2:
      return std::exp2(x);
    case Op::Log:
      return std::log(x);
    case Op::Log2:
      return std::log2(x);
    case Op::Sin:
      return std::sin(x);
    case Op::Cos:
      return std::cos(x);
    case Op::Tanh:
      return std::tanh(x);
    case Op::Erf:
      return std::erf(x);
    case Op::Abs:
      return std::fabs(x);
    case Op::Floor:
      return std::floor(x);
    case Op::Ceil:
      return std::ceil(x);
    case Op::Round:
      return std::nearbyint(x);
    case Op::Trunc:
      return std::trunc(x);
    case Op::Sigmoid:
      return 1.0 / (1.0 + std::exp(-x));
    case Op::Rounded:
      return x;
    default:
      return undefined(op, scalar);
  }
}

absl::StatusOr<Element> int_unary(Op op, Scalar scalar, Element x) {
  const Wide value = widen(scalar, x);
  switch (op) {
    case Op::Neg:
      return narrow(op, scalar, -value);
    case Op::Abs:
      return narrow(op, scalar, value < 0 ? -value : value);
    case Op::Not:
      return scalar == Scalar::Bool ? Element::of_int(value == 0) : narrow(op, scalar, -value - 1);
    case Op::Floor:
    case Op::Ceil:
    case Op::Round:
    case Op::Trunc:
      return x;
    default:
      return undefined(op, scalar);
  }
}

double scale_float(double x, double n) {
  if (!std::isfinite(n)) return std::nan("");
  return std::ldexp(x, static_cast<int>(std::clamp(std::floor(n), -1e5, 1e5)));
}

absl::StatusOr<double> float_binary(Op op, Scalar scalar, double a, double b) {
  switch (op) {
    case Op::Add:
      return a + b;
    case Op::Sub:
      return a - b;
    case Op::Mul:
      return a * b;
    case Op::Div:
      return a / b;
    case Op::Max:
      return max_float(a, b);
    case Op::Min:
      return min_float(a, b);
    case Op::Pow:
      return std::pow(a, b);
    case Op::ScaleB:
      return scale_float(a, b);
    default:
      return undefined(op, scalar);
  }
}

Wide trunc_div(Wide a, Wide b) { return b == 0 ? 0 : a / b; }
Wide trunc_mod(Wide a, Wide b) { return b == 0 ? 0 : a % b; }
Wide floor_div(Wide a, Wide b) { return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }
Wide floor_mod(Wide a, Wide b) { return b == 0 ? 0 : a - floor_div(a, b) * b; }

Wide shift_left(Scalar scalar, Wide a, Wide count) {
  if (count < 0 || count >= ir::bit_width(scalar)) return 0;
  return static_cast<Wide>(static_cast<unsigned __int128>(a) << static_cast<int>(count));
}

Wide shift_right(Scalar scalar, Wide a, Wide count) {
  if (count < 0 || count >= ir::bit_width(scalar)) return !is_unsigned(scalar) && a < 0 ? -1 : 0;
  return a >> static_cast<int>(count);
}

// Wraps at every multiplication; a negative exponent gives 1/a truncated towards zero (0 for a = 0).
Wide int_pow(Scalar scalar, Wide a, Wide exponent) {
  if (exponent < 0) return a == 1 ? 1 : a == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  Element result = Element::of_int(wrap_int(scalar, 1));
  Element base = Element::of_int(static_cast<std::int64_t>(a));
  const auto multiply = [&](Element x, Element y) {
    return Element::of_int(
        wrap_int(scalar, static_cast<std::int64_t>(static_cast<std::uint64_t>(x.i) * static_cast<std::uint64_t>(y.i))));
  };
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) result = multiply(result, base);
    base = multiply(base, base);
  }
  return widen(scalar, result);
}

absl::StatusOr<Element> int_binary(Op op, Scalar scalar, Element x, Element y) {
  const Wide a = widen(scalar, x), b = widen(scalar, y);
  switch (op) {
    case Op::Add:
      return narrow(op, scalar, a + b);
    case Op::Sub:
      return narrow(op, scalar, a - b);
    case Op::Mul:
      return narrow(op, scalar,
                    static_cast<Wide>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b)));
    case Op::TruncDiv:
      return narrow(op, scalar, trunc_div(a, b));
    case Op::TruncMod:
      return narrow(op, scalar, trunc_mod(a, b));
    case Op::FloorDiv:
      return narrow(op, scalar, floor_div(a, b));
    case Op::FloorMod:
      return narrow(op, scalar, floor_mod(a, b));
    case Op::Max:
      return a < b ? y : x;
    case Op::Min:
      return b < a ? y : x;
    case Op::Pow:
      return narrow(op, scalar, int_pow(scalar, a, b));
    case Op::And:
      return Element::of_int(x.i & y.i);
    case Op::Or:
      return Element::of_int(x.i | y.i);
    case Op::Xor:
      return Element::of_int(x.i ^ y.i);
    case Op::Shl:
      return narrow(op, scalar, shift_left(scalar, a, b));
    case Op::Shr:
      return narrow(op, scalar, shift_right(scalar, a, b));
    default:
      return undefined(op, scalar);
  }
}

absl::StatusOr<Element> compare(Op op, Scalar scalar, Element x, Element y) {
  const bool is_float = ir::is_float(scalar);
  const Wide a = widen(scalar, x), b = widen(scalar, y);
  switch (op) {
    case Op::Lt:
      return Element::of_int(is_float ? x.f < y.f : a < b);
    case Op::Le:
      return Element::of_int(is_float ? x.f <= y.f : a <= b);
    case Op::Eq:
      return Element::of_int(is_float ? x.f == y.f : a == b);
    case Op::Ne:
      return Element::of_int(is_float ? x.f != y.f : a != b);
    default:
      return undefined(op, scalar);
  }
}

Element float_to_int(Scalar to, double x) {
  if (std::isnan(x)) return Element::of_int(0);
  const double truncated = std::trunc(x);
  if (to == Scalar::U64) {
    if (truncated <= 0) return Element::of_int(0);
    if (truncated >= 0x1p64) return Element::of_int(-1);
    return Element::of_int(static_cast<std::int64_t>(static_cast<std::uint64_t>(truncated)));
  }
  const int width = ir::bit_width(to);
  const double limit = std::ldexp(1.0, is_unsigned(to) ? width : width - 1);  // first value too great
  const double lowest = is_unsigned(to) ? 0.0 : -limit;
  if (truncated < lowest)
    return Element::of_int(is_unsigned(to) ? 0 : std::numeric_limits<std::int64_t>::min() >> (64 - width));
  if (truncated >= limit) {
    return Element::of_int(static_cast<std::int64_t>(~std::uint64_t{0} >> (64 - width + (is_unsigned(to) ? 0 : 1))));
  }
  return Element::of_int(static_cast<std::int64_t>(truncated));
}

double int_to_float(Scalar to, Scalar from, Element x) {
  const auto bits = static_cast<std::uint64_t>(x.i);
  if (to == Scalar::F64) return from == Scalar::U64 ? static_cast<double>(bits) : static_cast<double>(x.i);
  if (to == Scalar::F32) return from == Scalar::U64 ? static_cast<float>(bits) : static_cast<float>(x.i);
  // A double holds 53 bits; what does not fit only matters as "more than", so it becomes one odd bit.
  const bool negative = from != Scalar::U64 && x.i < 0;
  std::uint64_t magnitude = negative ? -bits : bits;
  if (magnitude >> 53 != 0) magnitude = (magnitude >> 11 | ((magnitude & 0x7ff) != 0 ? 1 : 0)) << 11;
  const auto exact = static_cast<double>(magnitude);
  return round_float(to, negative ? -exact : exact);
}

Element cast(Scalar to, Scalar from, Element x) {
  if (to == Scalar::Bool) return Element::of_int(ir::is_float(from) ? x.f != 0 : x.i != 0);
  if (ir::is_float(from)) return ir::is_float(to) ? Element::of_float(round_float(to, x.f)) : float_to_int(to, x.f);
  if (ir::is_float(to)) return Element::of_float(int_to_float(to, from, x));
  return Element::of_int(wrap_int(to, x.i));
}

absl::StatusOr<Element> fused_multiply_add(Scalar scalar, std::span<const Element> args) {
  if (!ir::is_float(scalar)) {
    absl::StatusOr<Element> product = int_binary(Op::Mul, scalar, args[0], args[1]);
    if (!product.ok()) return product;
    return int_binary(Op::Add, scalar, *product, args[2]);
  }
  if (scalar == Scalar::F64) return Element::of_float(std::fma(args[0].f, args[1].f, args[2].f));
  const float exact =
      std::fma(static_cast<float>(args[0].f), static_cast<float>(args[1].f), static_cast<float>(args[2].f));
  return Element::of_float(round_float(scalar, exact));
}

}  // namespace

absl::StatusOr<Element> evaluate(Op op, Scalar result, Scalar operand, std::span<const Element> args) {
  switch (ir::op_class(op)) {
    case ir::OpClass::Compare:
      return compare(op, operand, args[0], args[1]);
    case ir::OpClass::Convert:
      return op == Op::Bitcast ? decode(result, encode(operand, args[0])) : cast(result, operand, args[0]);
    case ir::OpClass::Ternary:
      return op == Op::Where ? (args[0].i != 0 ? args[1] : args[2]) : fused_multiply_add(result, args);
    case ir::OpClass::Unary:
    case ir::OpClass::Binary:
      break;
    default:
      return undefined(op, operand);
  }
  const bool unary = ir::op_class(op) == ir::OpClass::Unary;
  if (!ir::is_float(operand))
    return unary ? int_unary(op, operand, args[0]) : int_binary(op, operand, args[0], args[1]);
  HEARTH_ASSIGN_OR_RETURN(
      double value, unary ? float_unary(op, operand, args[0].f) : float_binary(op, operand, args[0].f, args[1].f));
  return Element::of_float(round_float(result, value));
}

Element reduce_identity(ir::ReduceKind kind, Scalar scalar) {
  switch (kind) {
    case ir::ReduceKind::Sum:
      return {0, 0.0};
    case ir::ReduceKind::Prod:
      return {1, 1.0};
    case ir::ReduceKind::Max: {
      if (scalar == Scalar::F8E4M3) return Element::of_float(-448);
      if (is_unsigned(scalar)) return Element::of_int(0);
      return {std::numeric_limits<std::int64_t>::min() >> (64 - (ir::is_float(scalar) ? 64 : ir::bit_width(scalar))),
              -INFINITY};
    }
    case ir::ReduceKind::Min:
      break;
  }
  if (scalar == Scalar::F8E4M3) return Element::of_float(448);
  if (ir::is_float(scalar)) return Element::of_float(INFINITY);
  const int unused_bits = 64 - ir::bit_width(scalar) + (is_unsigned(scalar) ? 0 : 1);
  return Element::of_int(static_cast<std::int64_t>(~std::uint64_t{0} >> unused_bits));
}

Element reduce_step(ir::ReduceKind kind, Scalar scalar, Element accumulator, Element value) {
  const Op op = kind == ir::ReduceKind::Sum    ? (scalar == Scalar::Bool ? Op::Or : Op::Add)
                : kind == ir::ReduceKind::Prod ? (scalar == Scalar::Bool ? Op::And : Op::Mul)
                : kind == ir::ReduceKind::Max  ? Op::Max
                                               : Op::Min;
  const Element args[] = {accumulator, value};
  absl::StatusOr<Element> result = evaluate(op, scalar, scalar, args);
  return result.ok() ? *result : accumulator;  // cannot fail: these ops are defined for every dtype
}

}  // namespace hearth::codegen::reference
