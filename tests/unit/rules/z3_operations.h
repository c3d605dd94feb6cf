// The operations of ir/uop.h as Z3 terms over one domain: Int, Real, 8-bit vectors, Bool or half-precision floats.
#pragma once
#include <z3++.h>

#include <stdexcept>
#include <string>

#include "tests/unit/rules/prover.h"

namespace hearth::test {

class Z3Operations {
 protected:
  using expr = z3::expr;
  using Op = ir::Op;
  using Sort = rewrite::Sort;

  explicit Z3Operations(Domain domain) : domain_(domain) { context_.set_rounding_mode(z3::RNE); }
  virtual ~Z3Operations() = default;

  struct Division {
    Op op;  // FloorDiv or TruncDiv
    expr a, b, quotient, remainder;
  };

  // Integer division is by definition and needs facts: the prover's.
  virtual Division divide(Op op, const expr& a, const expr& b) = 0;
  // A real divisor: assumed not to be zero.
  virtual expr nonzero(const expr& a) = 0;

  bool vector_domain() const { return domain_ == Domain::Signed8 || domain_ == Domain::Unsigned8; }
  bool is_signed() const { return domain_ == Domain::Signed8; }

  expr literal(std::int64_t value, Sort sort) {
    if (sort == Sort::Bool) return context_.bool_val(value != 0);
    switch (domain_) {
      case Domain::Integer:
        return context_.int_val(value);
      case Domain::Bool:
        return context_.bool_val(value != 0);
      case Domain::Float:
        return expr(context_, Z3_mk_fpa_numeral_double(context_, static_cast<double>(value), float_sort()));
      case Domain::Real:
        return context_.real_val(value);
      default:
        return context_.bv_val(static_cast<std::int64_t>(value), 8);
    }
  }

  z3::sort float_sort() { return context_.fpa_sort(5, 11); }

  expr fpa(Z3_ast ast) { return expr(context_, ast); }
  expr round(const expr& a, Z3_ast mode) { return fpa(Z3_mk_fpa_round_to_integral(context_, mode, a)); }

  expr unary(Op op, const expr& a) {
    switch (op) {
      case Op::Neg:
        return a.is_fpa() ? fpa(Z3_mk_fpa_neg(context_, a)) : -a;
      case Op::Not:
        return a.is_bool() ? !a : ~a;
      case Op::Abs:
        if (a.is_fpa()) return fpa(Z3_mk_fpa_abs(context_, a));
        return domain_ == Domain::Unsigned8 ? a : z3::ite(a >= literal(0, Sort::Element), a, -a);
      case Op::Recip:
        if (a.is_real()) return literal(1, Sort::Element) / nonzero(a);
        return fpa(Z3_mk_fpa_div(context_, rne(), literal(1, Sort::Element), a));
      case Op::Floor:
        return round(a, Z3_mk_fpa_round_toward_negative(context_));
      case Op::Ceil:
        return round(a, Z3_mk_fpa_round_toward_positive(context_));
      case Op::Trunc:
        return round(a, Z3_mk_fpa_round_toward_zero(context_));
      case Op::Round:
        return round(a, rne());
      default:
        throw std::logic_error("prover: unary " + std::string(ir::op_name(op)));
    }
  }

  Z3_ast rne() { return Z3_mk_fpa_round_nearest_ties_to_even(context_); }

  expr less(const expr& a, const expr& b) {
    if (a.is_bool()) return !a && b;
    if (a.is_fpa()) return fpa(Z3_mk_fpa_lt(context_, a, b));
    return domain_ == Domain::Unsigned8 ? z3::ult(a, b) : a < b;
  }
  expr less_equal(const expr& a, const expr& b) {
    if (a.is_bool()) return !a || b;
    if (a.is_fpa()) return fpa(Z3_mk_fpa_leq(context_, a, b));
    return domain_ == Domain::Unsigned8 ? z3::ule(a, b) : a <= b;
  }

  expr binary(Op op, const expr& a, const expr& b) {
    switch (op) {
      case Op::Add:
        return a.is_fpa() ? fpa(Z3_mk_fpa_add(context_, rne(), a, b)) : a + b;
      case Op::Sub:
        return a.is_fpa() ? fpa(Z3_mk_fpa_sub(context_, rne(), a, b)) : a - b;
      case Op::Mul:
        return a.is_fpa() ? fpa(Z3_mk_fpa_mul(context_, rne(), a, b)) : a * b;
      case Op::Div:
        if (a.is_real()) return a / nonzero(b);
        return fpa(Z3_mk_fpa_div(context_, rne(), a, b));
      case Op::FloorDiv:
      case Op::TruncDiv:
        return divide(op, a, b).quotient;
      case Op::FloorMod:
      case Op::TruncMod:
        return divide(op == Op::FloorMod ? Op::FloorDiv : Op::TruncDiv, a, b).remainder;
      case Op::Max:
      case Op::Min: {
        if (a.is_bool()) return op == Op::Max ? a || b : a && b;
        const expr chosen = op == Op::Max ? z3::ite(less(a, b), b, a) : z3::ite(less(b, a), b, a);
        if (!a.is_fpa()) return chosen;
        return z3::ite(fpa(Z3_mk_fpa_is_nan(context_, a)), a, z3::ite(fpa(Z3_mk_fpa_is_nan(context_, b)), b, chosen));
      }
      case Op::And:
        return a.is_bool() ? a && b : a & b;
      case Op::Or:
        return a.is_bool() ? a || b : a | b;
      case Op::Xor:
        return a.is_bool() ? a != b : a ^ b;
      case Op::Lt:
        return less(a, b);
      case Op::Le:
        return less_equal(a, b);
      case Op::Eq:
        return a.is_fpa() ? fpa(Z3_mk_fpa_eq(context_, a, b)) : a == b;
      case Op::Ne:
        return a.is_fpa() ? !fpa(Z3_mk_fpa_eq(context_, a, b)) : a != b;
      case Op::Shl:
      case Op::Shr:
        return shift(op, a, b);
      default:
        throw std::logic_error("prover: binary " + std::string(ir::op_name(op)));
    }
  }

  expr shift(Op op, const expr& a, const expr& b) {
    const expr out = z3::ult(context_.bv_val(7, 8), b);  // also negative amounts
    const expr zero = context_.bv_val(0, 8);
    if (op == Op::Shl) return z3::ite(out, zero, z3::shl(a, b));
    if (!is_signed()) return z3::ite(out, zero, z3::lshr(a, b));
    return z3::ite(out, z3::ite(a < 0, context_.bv_val(-1, 8), zero), z3::ashr(a, b));
  }

  Division divide_vector(Op op, const expr& a, const expr& b) {
    const expr zero = context_.bv_val(0, 8);
    if (!is_signed()) {
      return {op, a, b, z3::ite(b == zero, zero, z3::udiv(a, b)), z3::ite(b == zero, zero, z3::urem(a, b))};
    }
    expr q = a / b, r = z3::srem(a, b);  // operator/ is bvsdiv
    if (op == Op::FloorDiv) {
      const expr adjust = r != zero && ((r < 0) != (b < 0));
      q = z3::ite(adjust, q - 1, q);
      r = z3::ite(adjust, r + b, r);
    }
    return {op, a, b, z3::ite(b == zero, zero, q), z3::ite(b == zero, zero, r)};
  }

  z3::context context_;
  Domain domain_;
};

}  // namespace hearth::test
