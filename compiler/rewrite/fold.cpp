#include "compiler/rewrite/fold.h"

#include <cmath>
#include <limits>

#include "base/integer_math.h"
#include "compiler/ir/rounding.h"

namespace hearth::rewrite {

using ir::ConstValue;
using ir::DType;
using ir::Op;
using ir::Scalar;

namespace {

using Wide = __int128;
using Args = std::span<const ConstValue>;
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

ConstValue integer(std::int64_t value) { return {false, value, 0}; }

// Integers as mathematical values.
Wide widen(DType t, const ConstValue& v) {
  return t.scalar == Scalar::U64 ? Wide(static_cast<std::uint64_t>(v.i)) : Wide(v.i);
}

std::optional<ConstValue> narrow(DType t, Wide value) {
  if (ir::is_index(t) && (value < kMin || value > kMax)) return std::nullopt;
  return wrap_literal(t, static_cast<std::int64_t>(static_cast<unsigned __int128>(value)));
}

Wide wide_trunc_div(Wide a, Wide b) { return b == 0 ? 0 : a / b; }
Wide wide_floor_div(Wide a, Wide b) { return b == 0 ? 0 : hearth::floor_div(a, b); }

std::optional<Wide> shift(Op op, DType t, Wide a, Wide by) {
  const int bits = ir::bit_width(t);
  const bool out = by < 0 || by >= bits;
  if (op == Op::Shl) {
    if (out) return ir::is_index(t) ? std::nullopt : std::optional<Wide>(0);
    return a * (Wide(1) << static_cast<int>(by));
  }
  if (out) return a < 0 ? -1 : 0;
  return a >> static_cast<int>(by);
}

std::optional<ConstValue> fold_int(Op op, DType t, Args args) {
  const Wide a = widen(t, args[0]);
  if (args.size() == 1) {
    switch (op) {
      case Op::Neg:
        return narrow(t, -a);
      case Op::Abs:
        return narrow(t, a < 0 ? -a : a);
      case Op::Not:
        return narrow(t, ~a);
      default:
        return std::nullopt;
    }
  }
  const Wide b = widen(t, args[1]);
  switch (op) {
    case Op::Add:
      return narrow(t, a + b);
    case Op::Sub:
      return narrow(t, a - b);
    case Op::Mul:
      return narrow(t, static_cast<Wide>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b)));
    case Op::TruncDiv:
      return narrow(t, wide_trunc_div(a, b));
    case Op::TruncMod:
      return narrow(t, b == 0 ? 0 : a % b);
    case Op::FloorDiv:
      return narrow(t, wide_floor_div(a, b));
    case Op::FloorMod:
      return narrow(t, b == 0 ? 0 : a - wide_floor_div(a, b) * b);
    case Op::Max:
      return narrow(t, a > b ? a : b);
    case Op::Min:
      return narrow(t, a < b ? a : b);
    case Op::And:
      return narrow(t, a & b);
    case Op::Or:
      return narrow(t, a | b);
    case Op::Xor:
      return narrow(t, a ^ b);
    case Op::Shl:
    case Op::Shr: {
      const std::optional<Wide> value = shift(op, t, a, b);
      return value ? narrow(t, *value) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

std::optional<ConstValue> fold_bool(Op op, Args args) {
  const bool a = args[0].i != 0;
  if (op == Op::Not) return integer(!a);
  if (args.size() < 2) return std::nullopt;
  const bool b = args[1].i != 0;
  switch (op) {
    case Op::And:
    case Op::Min:
      return integer(a && b);
    case Op::Or:
    case Op::Max:
      return integer(a || b);
    case Op::Xor:
      return integer(a != b);
    default:
      return std::nullopt;
  }
}

ConstValue real(DType t, double value) {
  if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
  return {true, 0, ir::round_to(t, value)};
}

// f64 computes in double, the others in float (double first, then float: exact for + - * / sqrt) with one more
// rounding.
std::optional<ConstValue> fold_float(Op op, DType t, Args args) {
  auto done = [t](double value) { return real(t, t.scalar == Scalar::F64 ? value : static_cast<float>(value)); };
  const double a = args[0].f;
  if (args.size() == 1) {
    switch (op) {
      case Op::Neg:
        return done(-a);
      case Op::Abs:
        return done(std::fabs(a));
      case Op::Sqrt:
        return done(std::sqrt(a));
      case Op::Recip:
        return done(1.0 / a);
      case Op::Floor:
        return done(std::floor(a));
      case Op::Ceil:
        return done(std::ceil(a));
      case Op::Trunc:
        return done(std::trunc(a));
      case Op::Round:
        return done(std::nearbyint(a));
      default:
        return std::nullopt;
    }
  }
  const double b = args[1].f;
  switch (op) {
    case Op::Add:
      return done(a + b);
    case Op::Sub:
      return done(a - b);
    case Op::Mul:
      return done(a * b);
    case Op::Div:
      return done(a / b);
    case Op::Max:
      return done(std::isnan(a) ? a : std::isnan(b) ? b : a < b ? b : a);
    case Op::Min:
      return done(std::isnan(a) ? a : std::isnan(b) ? b : b < a ? b : a);
    default:
      return std::nullopt;
  }
}

template <class T>
std::optional<ConstValue> compare(Op op, T a, T b) {
  switch (op) {
    case Op::Lt:
      return integer(a < b);
    case Op::Le:
      return integer(a <= b);
    case Op::Eq:
      return integer(a == b);
    case Op::Ne:
      return integer(a != b);
    default:
      return std::nullopt;
  }
}

std::optional<ConstValue> fold_cast(DType to, DType from, const ConstValue& v) {
  if (ir::is_float(from)) {
    if (ir::is_bool(to)) return integer(v.f != 0);
    if (ir::is_float(to)) return real(to, v.f);
    if (std::isnan(v.f)) return integer(0);
    const double value = std::trunc(v.f);
    if (to.scalar == Scalar::U64) {
      if (value <= 0) return integer(0);
      return integer(value >= 0x1p64 ? -1 : static_cast<std::int64_t>(static_cast<std::uint64_t>(value)));
    }
    if (value < static_cast<double>(ir::int_min(to))) return integer(ir::int_min(to));
    if (value >= static_cast<double>(ir::int_max(to))) return integer(ir::int_max(to));
    return integer(static_cast<std::int64_t>(value));
  }
  const Wide value = widen(from, v);
  if (!ir::is_float(to)) return ir::is_bool(to) ? integer(value != 0) : narrow(to, value);
  const Wide exact = to.scalar == Scalar::F64 ? Wide(1) << 53 : Wide(1) << 24;
  if (value > exact || value < -exact) return std::nullopt;
  return real(to, static_cast<double>(value));
}

}  // namespace

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return static_cast<std::int64_t>(wide_floor_div(a, b)); }
std::int64_t floor_mod(std::int64_t a, std::int64_t b) {
  return b == 0 ? 0 : static_cast<std::int64_t>(Wide(a) - wide_floor_div(a, b) * b);
}

ConstValue wrap_literal(DType t, std::int64_t value) {
  if (ir::is_float(t)) return real(t, static_cast<double>(value));
  if (ir::is_bool(t)) return integer(value != 0);
  const int bits = ir::bit_width(t);
  if (bits == 64 || bits == 0) return integer(value);
  const std::uint64_t low = static_cast<std::uint64_t>(value) & ((std::uint64_t{1} << bits) - 1);
  if (ir::is_unsigned_int(t)) return integer(static_cast<std::int64_t>(low));
  return integer(static_cast<std::int64_t>(low << (64 - bits)) >> (64 - bits));
}

ir::UOpRef make_const(ir::Graph& graph, DType dtype, const ConstValue& value) {
  return value.is_float ? graph.constant(dtype, value.f) : graph.constant(dtype, value.i);
}

std::optional<ConstValue> fold(Op op, DType result, DType operand, Args args) {
  if (op == Op::Where) return args[args[0].i != 0 ? 1 : 2];
  if (op == Op::Cast) return fold_cast(result, operand, args[0]);
  if (ir::op_class(op) == ir::OpClass::Compare) {
    if (ir::is_float(operand)) return compare(op, args[0].f, args[1].f);
    return compare(op, widen(operand, args[0]), widen(operand, args[1]));
  }
  if (op == Op::Fma || args.size() > 2) return std::nullopt;
  if (ir::is_bool(operand)) return fold_bool(op, args);
  if (ir::is_int(operand)) return fold_int(op, operand, args);
  return ir::is_float(operand) ? fold_float(op, operand, args) : std::nullopt;
}

}  // namespace hearth::rewrite
