// A declarative rule as Z3 terms over one domain: the sides, the condition (over mathematical integers), and what is
// true of the divisions in it. The rule must be spelled out: no op slots, no alternatives (families.h).
//
//   RuleEncoding e(context, rule, domain, RuleEncoding::Divisions::Exact);
//   e.facts && e.when => e.lhs == e.rhs
#pragma once
#include <array>
#include <optional>
#include <vector>

#include "compiler/rewrite/rule.h"
#include "tests/unit/rules/z3_operations.h"

namespace hearth::test {

// Whether elements of the rule are at other places after it: such a rule says nothing of what they are.
bool moves_elements(const rewrite::Rule& rule);

class RuleEncoding : public Z3Operations {
 public:
  // How x div y is written. Exact: as Z3's own operation on vectors, which it multiplies out bit by bit. Named: as a
  // new name with what is true of it, which is enough for many proofs at any width and never for a counterexample.
  // Integers are always named, with facts that leave one value.
  enum class Divisions { Exact, Named };

  RuleEncoding(z3::context& context, const rewrite::Rule& rule, const Domain& domain, Divisions divisions);

  z3::expr_vector facts;
  std::optional<expr> lhs, rhs, when;
  // Of a rule that moves elements: what makes the right side well formed, which the left side's facts have to imply.
  std::optional<expr> is_well_formed;

  // Every integer capture is near zero: where counterexamples and witnesses are looked for.
  void search_near_zero();
  // True statements about integer divisions that Z3 does not find by itself; `effort` 1 to 3: more of them.
  void add_division_lemmas(int effort);
  // What a proof may take apart: the bools, and the exponents of powers of two.
  struct Case {
    expr value;
    std::vector<expr> ways;
  };
  const std::vector<Case>& cases() const { return cases_; }
  bool has_divisions() const { return !divisions_.empty(); }

 protected:
  Division divide(Op op, const expr& a, const expr& b) override;
  expr divide_real(const expr& a, const expr& b) override;

 private:
  struct NamedDivision {
    Op op;  // FloorDiv or TruncDiv
    expr a, b;
    Division result;
  };
  expr encode(const rewrite::Pattern& p, int i, rewrite::Sort place);
  expr encode_operation(const rewrite::Pattern& p, int i, rewrite::Sort place);
  rewrite::Sort operand_sort(const rewrite::Pattern& p, int i, rewrite::Sort place) const;
  expr capture(int index);
  // What a movement has at the place at hand, of one axis (of a reshape: in row-major order).
  expr encode_movement(const rewrite::Pattern& p, int i);
  expr length_of(const rewrite::Pattern& p, int i);
  expr exponent(int capture);
  Division name_integers(Op op, const expr& a, const expr& b);
  Division name_vectors(Op op, const expr& a, const expr& b);

  expr condition(const rewrite::Pattern& p, int i);
  std::optional<expr> narrow(const rewrite::Pattern& p, int i);
  expr wide(const expr& a);
  expr wide_value(std::int64_t value);
  expr bound(int index, bool max);
  bool is_nonzero(int i, int capture) const;
  void substitute_multiples(int i);
  void add_candidates(int effort);
  unsigned wide_bits() const { return 2 * domain().bits() + 8; }  // of conditions: no product stands in them

  const rewrite::Rule& rule_;
  const Divisions how_;
  z3::expr_vector pool_;  // integers that a quotient may be
  std::array<std::optional<expr>, rewrite::kNumCaptures> captures_, lows_, highs_, exponents_;
  std::vector<Case> cases_;
  std::vector<NamedDivision> divisions_;
  std::optional<expr> multiple_;
  std::optional<expr> place_;  // where a rule of movements looks; none: elementwise
};

}  // namespace hearth::test
