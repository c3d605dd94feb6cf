// The operations of ir/uop.h as Z3 terms over one domain. f16 and bf16 round each operation once: that they are
// computed in f32 and rounded again gives the same, since 24 bits are at least 2 * 11 + 2 (Figueroa 1995). The context
// outlives what is made of it.
//
//   Z3Operations i8(context, domain_of(ir::Scalar::I8));
//   z3::expr sum = i8.binary(ir::Op::Add, i8.constant("x"), i8.literal(1));
#pragma once
#include <z3++.h>

#include "compiler/ir/uop.h"
#include "tests/unit/rules/domain.h"

namespace hearth::test {

// Of f16, bf16, f32 and f64; std::logic_error for others, which Z3 lacks.
z3::sort float_sort(z3::context& context, ir::Scalar type);

class Z3Operations {
 public:
  using expr = z3::expr;
  using Op = ir::Op;

  Z3Operations(z3::context& context, const Domain& domain);
  virtual ~Z3Operations() = default;

  const Domain& domain() const { return domain_; }
  expr constant(const std::string& name);  // any value
  expr literal(std::int64_t value);
  expr unary(Op op, const expr& a);
  expr binary(Op op, const expr& a, const expr& b);  // comparisons give a Bool

 protected:
  struct Division {
    expr quotient, remainder;
  };
  // FloorDiv or TruncDiv; x div 0 = 0 = x mod 0.
  virtual Division divide(Op op, const expr& a, const expr& b);
  // a / b of real numbers.
  virtual expr divide_real(const expr& a, const expr& b);

  // The floor of a quotient, from what truncation gives.
  Division floor_of(const Division& truncated, const expr& b);
  expr bits(std::int64_t value) { return context_.bv_val(value, domain_.bits()); }
  bool is_signed() const { return domain_.theory == Theory::Signed; }

  z3::context& context_;

 private:
  expr negative(const expr& a) { return a < 0; }
  expr round_to_integral(const expr& a, const expr& mode);
  expr less(const expr& a, const expr& b, bool or_equal);
  expr choose(Op op, const expr& a, const expr& b);
  expr shift(Op op, const expr& a, const expr& b);
  Division divide_integers(Op op, const expr& a, const expr& b);
  expr ast(Z3_ast a) { return expr(context_, a); }
  expr nearest() { return ast(Z3_mk_fpa_round_nearest_ties_to_even(context_)); }

  Domain domain_;
};

}  // namespace hearth::test
