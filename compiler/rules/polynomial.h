// Polynomial: an index expression as a sum of products of atoms, for inequalities over symbolic sizes: the linear form
// (linear_form.h) of i * n + j with symbolic n has the atom i * n, the polynomial has i and n. An atom is any node that
// is no sum, product or constant. Arithmetic is checked: what leaves int64 or grows too large makes it invalid for
// good.
//
//   Polynomial p; p.add(index);  p.add(size, -1);          // index - size
//   p.split(i, factor, rest)                               // p = factor * i + rest
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "compiler/rules/linear_form.h"

namespace hearth::rules {

struct Monomial {
  absl::InlinedVector<ir::UOpRef, 3> atoms;  // by id; one that stands twice is squared; none: the constant
  std::int64_t factor = 0;
};

class Polynomial {
 public:
  bool valid() const { return valid_; }
  const std::vector<Monomial>& terms() const { return terms_; }  // ordered, distinct, no zero factor
  bool is_constant() const { return terms_.empty() || (terms_.size() == 1 && terms_[0].atoms.empty()); }
  std::int64_t constant() const;  // the constant term

  void add(ir::UOpRef node, std::int64_t factor = 1);
  void add_constant(std::int64_t value);
  void add(const Polynomial& other, std::int64_t factor = 1);
  void multiply(const Polynomial& other);
  // For p >= 0 over integers: p / gcd of the factors, the constant rounded down.
  void divide_by_gcd();
  bool is_multiple_of(std::int64_t n) const;
  // *this / by rounded down, where `by` is at least 1 and *this a multiple of it and a constant that is smaller than it.
  std::optional<Polynomial> divided_by(const Polynomial& by) const;

  // *this = factor * atom + rest; false when it is not linear in the atom.
  bool split(ir::UOpRef atom, Polynomial& factor, Polynomial& rest) const;
  // The last atom, or the last before `before`; null when there is none. Users come after their sources, variables
  // before all others.
  ir::UOpRef last_atom(ir::UOpRef before = nullptr) const;
  // By the atoms' own bounds.
  Interval bounds() const;

 private:
  void add_product(ir::UOpRef node, std::int64_t factor, int depth);
  void add_term(const Monomial& term, std::int64_t factor);
  std::vector<Monomial> terms_;
  bool valid_ = true;
};

}  // namespace hearth::rules
