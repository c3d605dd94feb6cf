#include "tests/unit/rules/z3_operations.h"

#include <stdexcept>

namespace hearth::test {

using ir::Op;
using ir::Scalar;
using z3::expr;

z3::sort float_sort(z3::context& context, Scalar type) {
  switch (type) {
    case Scalar::F16:
      return context.fpa_sort(5, 11);
    case Scalar::BF16:
      return context.fpa_sort(8, 8);
    case Scalar::F32:
      return context.fpa_sort(8, 24);
    case Scalar::F64:
      return context.fpa_sort(11, 53);
    default:
      throw std::logic_error("Z3 has no type like " + ir::to_string(type));
  }
}

namespace {

[[noreturn]] void unknown(Op op, const Domain& domain) {
  throw std::logic_error("no meaning of " + std::string(ir::op_name(op)) + " over " + to_string(domain));
}

}  // namespace

Z3Operations::Z3Operations(z3::context& context, const Domain& domain) : context_(context), domain_(domain) {
  context_.set_rounding_mode(z3::RNE);
}

expr Z3Operations::constant(const std::string& name) {
  switch (domain_.theory) {
    case Theory::Integer:
      return context_.int_const(name.c_str());
    case Theory::Bool:
      return context_.bool_const(name.c_str());
    case Theory::Real:
      return context_.real_const(name.c_str());
    case Theory::Float:
      return context_.constant(name.c_str(), float_sort(context_, domain_.type));
    default:
      return context_.bv_const(name.c_str(), domain_.bits());
  }
}

expr Z3Operations::literal(std::int64_t value) {
  switch (domain_.theory) {
    case Theory::Integer:
      return context_.int_val(value);
    case Theory::Bool:
      return context_.bool_val(value != 0);
    case Theory::Real:
      return context_.real_val(value);
    case Theory::Float:
      return ast(Z3_mk_fpa_numeral_double(context_, static_cast<double>(value), float_sort(context_, domain_.type)));
    default:
      return bits(value);
  }
}

// Of a narrow float by way of f32, where it is exact: Z3 4.8 fails on types with few bits behind the point.
expr Z3Operations::round_to_integral(const expr& a, const expr& mode) {
  const bool narrow = domain_.type == Scalar::F16 || domain_.type == Scalar::BF16;
  const z3::sort own = float_sort(context_, domain_.type);
  const expr wide = narrow ? ast(Z3_mk_fpa_to_fp_float(context_, nearest(), a, float_sort(context_, Scalar::F32))) : a;
  const expr integral = ast(Z3_mk_fpa_round_to_integral(context_, mode, wide));
  return narrow ? ast(Z3_mk_fpa_to_fp_float(context_, nearest(), integral, own)) : integral;
}

expr Z3Operations::unary(Op op, const expr& a) {
  switch (op) {
    case Op::Neg:
      return a.is_fpa() ? ast(Z3_mk_fpa_neg(context_, a)) : -a;
    case Op::Not:
      return a.is_bool() ? !a : ~a;
    case Op::Abs:
      if (a.is_fpa()) return ast(Z3_mk_fpa_abs(context_, a));
      return domain_.theory == Theory::Unsigned ? a : z3::ite(negative(a), -a, a);
    case Op::Recip:
      return binary(Op::Div, literal(1), a);
    case Op::Floor:
      return round_to_integral(a, ast(Z3_mk_fpa_round_toward_negative(context_)));
    case Op::Ceil:
      return round_to_integral(a, ast(Z3_mk_fpa_round_toward_positive(context_)));
    case Op::Trunc:
      return round_to_integral(a, ast(Z3_mk_fpa_round_toward_zero(context_)));
    case Op::Round:
      return round_to_integral(a, nearest());
    default:
      unknown(op, domain_);
  }
}

expr Z3Operations::less(const expr& a, const expr& b, bool or_equal) {
  if (a.is_bool()) return or_equal ? !a || b : !a && b;
  if (a.is_fpa()) return ast(or_equal ? Z3_mk_fpa_leq(context_, a, b) : Z3_mk_fpa_lt(context_, a, b));
  if (domain_.theory == Theory::Unsigned) return or_equal ? z3::ule(a, b) : z3::ult(a, b);
  return or_equal ? a <= b : a < b;
}

// max and min: NaN if either is NaN.
expr Z3Operations::choose(Op op, const expr& a, const expr& b) {
  if (a.is_bool()) return op == Op::Max ? a || b : a && b;
  const expr chosen = op == Op::Max ? z3::ite(less(a, b, false), b, a) : z3::ite(less(b, a, false), b, a);
  if (!a.is_fpa()) return chosen;
  return z3::ite(ast(Z3_mk_fpa_is_nan(context_, a)), a, z3::ite(ast(Z3_mk_fpa_is_nan(context_, b)), b, chosen));
}

expr Z3Operations::binary(Op op, const expr& a, const expr& b) {
  switch (op) {
    case Op::Add:
      return a.is_fpa() ? ast(Z3_mk_fpa_add(context_, nearest(), a, b)) : a + b;
    case Op::Sub:
      return a.is_fpa() ? ast(Z3_mk_fpa_sub(context_, nearest(), a, b)) : a - b;
    case Op::Mul:
      return a.is_fpa() ? ast(Z3_mk_fpa_mul(context_, nearest(), a, b)) : a * b;
    case Op::Div:
      if (a.is_real()) return divide_real(a, b);
      return ast(Z3_mk_fpa_div(context_, nearest(), a, b));
    case Op::FloorDiv:
    case Op::TruncDiv:
      return divide(op, a, b).quotient;
    case Op::FloorMod:
    case Op::TruncMod:
      return divide(op == Op::FloorMod ? Op::FloorDiv : Op::TruncDiv, a, b).remainder;
    case Op::Max:
    case Op::Min:
      return choose(op, a, b);
    case Op::And:
      return a.is_bool() ? a && b : a & b;
    case Op::Or:
      return a.is_bool() ? a || b : a | b;
    case Op::Xor:
      return a.is_bool() ? a != b : a ^ b;
    case Op::Lt:
    case Op::Le:
      return less(a, b, op == Op::Le);
    case Op::Eq:
      return a.is_fpa() ? ast(Z3_mk_fpa_eq(context_, a, b)) : a == b;
    case Op::Ne:
      return a.is_fpa() ? !ast(Z3_mk_fpa_eq(context_, a, b)) : a != b;
    case Op::Shl:
    case Op::Shr:
      return shift(op, a, b);
    default:
      unknown(op, domain_);
  }
}

expr Z3Operations::shift(Op op, const expr& a, const expr& b) {
  if (!domain_.is_vector()) unknown(op, domain_);
  const expr out = z3::ult(bits(domain_.bits() - 1), b);  // also negative amounts
  if (op == Op::Shl) return z3::ite(out, bits(0), z3::shl(a, b));
  if (!is_signed()) return z3::ite(out, bits(0), z3::lshr(a, b));
  return z3::ite(out, z3::ite(negative(a), bits(-1), bits(0)), z3::ashr(a, b));
}

Z3Operations::Division Z3Operations::floor_of(const Division& truncated, const expr& b) {
  const expr &q = truncated.quotient, &r = truncated.remainder;
  const expr adjust = r != 0 && (negative(r) != negative(b));
  return {z3::ite(adjust, q - 1, q), z3::ite(adjust, r + b, r)};
}

// Z3's div and mod leave a remainder >= 0, whatever the signs.
Z3Operations::Division Z3Operations::divide_integers(Op op, const expr& a, const expr& b) {
  const expr floor = z3::ite(b > 0, a / b, (-a) / (-b));
  const expr truncated = z3::ite(a >= 0, z3::ite(b > 0, a / b, -(a / -b)), z3::ite(b > 0, -(-a / b), (-a) / (-b)));
  const expr quotient = op == Op::FloorDiv ? floor : truncated;
  return {z3::ite(b == 0, context_.int_val(0), quotient), z3::ite(b == 0, context_.int_val(0), a - b * quotient)};
}

Z3Operations::Division Z3Operations::divide(Op op, const expr& a, const expr& b) {
  if (a.is_int()) return divide_integers(op, a, b);
  if (!domain_.is_vector()) unknown(op, domain_);
  Division result = is_signed() ? Division{a / b, z3::srem(a, b)} : Division{z3::udiv(a, b), z3::urem(a, b)};
  if (is_signed() && op == Op::FloorDiv) result = floor_of(result, b);
  return {z3::ite(b == 0, bits(0), result.quotient), z3::ite(b == 0, bits(0), result.remainder)};
}

expr Z3Operations::divide_real(const expr& a, const expr& b) { return a / b; }

}  // namespace hearth::test
