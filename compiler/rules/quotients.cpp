#include "compiler/rules/quotients.h"

#include <cstdlib>

#include "base/integer_math.h"

namespace hearth::rules {

using ir::Op;
using ir::UOpRef;

Polynomial polynomial(UOpRef node) {
  Polynomial p;
  p.add(node);
  return p;
}

std::optional<std::int64_t> single_value(UOpRef node) {
  if (node->bounds.min != node->bounds.max || node->bounds.min == INT64_MIN || node->bounds.max == INT64_MAX) return {};
  return node->bounds.min;
}

std::int64_t divisor_of(UOpRef atom) { return atom->is(Op::FloorDiv) ? single_value(atom->source(1)).value_or(0) : 0; }

UOpRef quotient_of(ir::Graph& g, UOpRef x, std::int64_t n) {
  const std::int64_t m = divisor_of(x);
  return m > 0 && m <= INT32_MAX && n <= INT32_MAX ? g.floordiv(x->source(0), g.index(m * n))
                                                   : g.floordiv(x, g.index(n));
}

bool belong_together(UOpRef quotient, UOpRef modulo) {
  if (quotient->source(1) != modulo->source(1)) return false;
  if (quotient->source(0) == modulo->source(0)) return true;
  const std::int64_t n = single_value(modulo->source(1)).value_or(0);
  Polynomial difference = polynomial(quotient->source(0));
  difference.add(modulo->source(0), -1);
  return n > 0 && difference.is_multiple_of(n);
}

std::optional<Polynomial> greatest_quotient(UOpRef quotient) {
  Polynomial x = polynomial(quotient->source(0));
  bool has_symbolic_loop = false;
  for (UOpRef atom = x.last_atom(); atom != nullptr; atom = x.last_atom(atom)) {
    if (!atom->is(Op::Range)) continue;
    Polynomial factor, rest, end;
    if (!x.split(atom, factor, rest) || !factor.is_constant()) return std::nullopt;
    has_symbolic_loop |= !atom->source(0)->is_const();
    if (factor.constant() > 0) {
      end = polynomial(atom->source(0));
      end.add_constant(-1);
    }
    factor.multiply(end);
    factor.add(rest);
    x = factor;
  }
  if (!has_symbolic_loop || !x.valid()) return std::nullopt;
  return x.divided_by(polynomial(quotient->source(1)));
}

std::optional<Polynomial> bound_by_quotient(UOpRef atom, UOpRef other, bool rises) {
  const bool is_coarse = divisor_of(atom) >= divisor_of(other);
  UOpRef coarse = is_coarse ? atom : other, fine = is_coarse ? other : atom;
  const std::int64_t n = divisor_of(fine);
  if (other == atom || n <= 0 || divisor_of(coarse) % n != 0) return std::nullopt;
  const std::int64_t k = divisor_of(coarse) / n;
  Polynomial c = polynomial(coarse->source(0)), fact;
  c.add(fine->source(0), -1);
  if (!c.valid() || !c.is_constant() || std::abs(c.constant()) > INT32_MAX) return std::nullopt;
  const bool bounds_coarse_above = is_coarse != rises;
  fact.add(fine, bounds_coarse_above ? 1 : -1);
  fact.add(coarse, bounds_coarse_above ? -k : k);
  fact.add_constant(bounds_coarse_above ? floor_div(c.constant() + n - 1, n) : k - 1 - floor_div(c.constant(), n));
  return fact;
}

}  // namespace hearth::rules
