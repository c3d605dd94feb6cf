// Floor division and modulo of index sums: what reshape, permute and flatten chains turn into.
//   D*c + R with 0 <= R < c:          div c -> D, mod c -> R
//   f*Q + R with 0 <= R < f, c = f*e: div c -> Q div e, mod c -> f*(Q mod e) + R
// and the same for symbolic divisors, where R < n is proved by structure (provably_less).
#include <algorithm>
#include <numeric>

#include "compiler/rewrite/fold.h"
#include "compiler/rules/linear_form.h"
#include "compiler/rules/rules.h"

namespace hearth::rules {

using ir::Op;
using ir::UOpRef;
using namespace rewrite;
using namespace rewrite::dsl;

namespace {

// Splits into quotient * f + rest, keeping in `rest` the terms f does not divide.
bool split(const LinearForm& form, std::int64_t f, LinearForm& quotient, LinearForm& rest) {
  quotient.clear();
  rest.clear();
  for (const Term& term : form.terms) {
    const bool divides = term.factor % f == 0;
    if (!(divides ? quotient.add_atom(term.atom, term.factor / f) : rest.add_atom(term.atom, term.factor)))
      return false;
  }
  return quotient.add_constant(floor_div(form.constant, f)) && rest.add_constant(floor_mod(form.constant, f));
}

// As split, but takes whole multiples of f out of every factor.
bool reduce(const LinearForm& form, std::int64_t f, LinearForm& quotient, LinearForm& rest) {
  quotient.clear();
  rest.clear();
  for (const Term& term : form.terms) {
    if (!quotient.add_atom(term.atom, floor_div(term.factor, f))) return false;
    if (!rest.add_atom(term.atom, floor_mod(term.factor, f))) return false;
  }
  return quotient.add_constant(floor_div(form.constant, f)) && rest.add_constant(floor_mod(form.constant, f));
}

// Divisors f of c, 1 < f < c, that divide some factor, greatest first.
absl::InlinedVector<std::int64_t, 8> partial_divisors(const LinearForm& form, std::int64_t c) {
  absl::InlinedVector<std::int64_t, 8> found;
  std::int64_t all = c;
  for (const Term& term : form.terms) {
    const std::int64_t f = std::gcd(term.factor, c);
    if (f > 1 && f < c) found.push_back(f);
    all = std::gcd(all, term.factor);
  }
  if (all > 1 && all < c) found.push_back(all);
  std::sort(found.begin(), found.end(), std::greater<>());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

UOpRef divide_by_const(ir::Graph& graph, UOpRef node, const LinearForm& form, std::int64_t c) {
  const Interval bounds = form.bounds();
  if (bounds.low && bounds.high) {
    auto quotient = [c](__int128 v) { return v / c - (v % c < 0 ? 1 : 0); };
    if (quotient(*bounds.low) == quotient(*bounds.high)) {
      return graph.index(static_cast<std::int64_t>(quotient(*bounds.low)));
    }
  }
  LinearForm quotient, rest;
  if (reduce(form, c, quotient, rest) && rest.bounds().inside(0, c)) return build(graph, quotient);
  if (split(form, c, quotient, rest) && !(quotient.terms.empty() && quotient.constant == 0)) {
    const UOpRef remaining = graph.floordiv(build(graph, rest), graph.index(c));
    return quotient.add_atom(remaining, 1) ? build(graph, quotient) : nullptr;
  }
  for (std::int64_t f : partial_divisors(form, c)) {
    if (split(form, f, quotient, rest) && rest.bounds().inside(0, f)) {
      return graph.floordiv(build(graph, quotient), graph.index(c / f));
    }
  }
  // (x div a + k) div c -> (x + a*k) div (a*c)
  if (form.terms.size() == 1 && form.terms[0].factor == 1 && form.terms[0].atom->is(Op::FloorDiv)) {
    const UOpRef inner = form.terms[0].atom, a = inner->source(1);
    std::int64_t size;
    LinearForm sum;
    if (a->is_const() && a->int_value() > 0 && !__builtin_mul_overflow(a->int_value(), c, &size) &&
        sum.add(inner->source(0)) && sum.add_constant(form.constant, a->int_value())) {
      return graph.floordiv(build(graph, sum), graph.index(size));
    }
  }
  return nullptr;
}

UOpRef modulo_const(ir::Graph& graph, UOpRef node, const LinearForm& form, std::int64_t c) {
  const Interval bounds = form.bounds();
  if (bounds.low && bounds.high) {
    auto quotient = [c](__int128 v) { return v / c - (v % c < 0 ? 1 : 0); };
    const __int128 q = quotient(*bounds.low);
    if (q == quotient(*bounds.high)) {
      LinearForm result = form;
      const bool fits = q * c >= -(__int128(1) << 62) && q * c <= __int128(1) << 62;
      return fits && result.add_constant(static_cast<std::int64_t>(-q * c)) ? build(graph, result) : nullptr;
    }
  }
  // Drop multiples of c; a*(y mod d) is a*y when c divides a*d.
  LinearForm opened;
  for (const Term& term : form.terms) {
    std::int64_t product;
    const bool inner =
        term.atom->is(Op::FloorMod) && term.atom->source(1)->is_const() && term.atom->source(1)->int_value() > 0 &&
        !__builtin_mul_overflow(term.factor, term.atom->source(1)->int_value(), &product) && product % c == 0;
    if (!(inner ? opened.add(term.atom->source(0), term.factor) : opened.add_atom(term.atom, term.factor)))
      return nullptr;
  }
  if (!opened.add_constant(form.constant)) return nullptr;
  LinearForm quotient, rest;
  if (!reduce(opened, c, quotient, rest)) return nullptr;
  if (rest.bounds().inside(0, c)) return build(graph, rest);
  for (Term& term : rest.terms) {
    if (term.factor > c / 2 && term.factor - c > -term.factor) term.factor -= c;  // the nearer of two residues
  }
  const UOpRef reduced = build(graph, rest);
  if (reduced != node->source(0)) return graph.floormod(reduced, graph.index(c));
  for (std::int64_t f : partial_divisors(rest, c)) {
    LinearForm high, low;
    if (!split(rest, f, high, low) || !low.bounds().inside(0, f)) continue;
    const UOpRef mod = graph.floormod(build(graph, high), graph.index(c / f));
    return low.add_atom(mod, f) ? build(graph, low) : nullptr;
  }
  return nullptr;
}

// sum = f*quotient + rest for a symbolic factor f, 0 <= rest < f.
bool split_symbolic(ir::Graph& graph, const LinearForm& sum, UOpRef f, LinearForm& quotient, LinearForm& rest) {
  if (!rest.add_constant(sum.constant)) return false;
  for (const Term& term : sum.terms) {
    const std::optional<Product> product = product_form(term.atom);
    const std::optional<Product> reduced = product ? without(*product, f) : std::nullopt;
    if (!(reduced ? quotient.add(build(graph, *reduced), term.factor) : rest.add_atom(term.atom, term.factor)))
      return false;
  }
  if (quotient.is_constant() && quotient.constant == 0) return false;
  const UOpRef low = build(graph, rest);
  return provably_non_negative(low) && provably_less(graph, low, f);
}

bool in_range(ir::Graph& graph, UOpRef a, UOpRef n) { return provably_non_negative(a) && provably_less(graph, a, n); }

UOpRef divide(Context& context, UOpRef node, const Match&) {
  ir::Graph& graph = context.graph;
  const UOpRef n = node->source(0), d = node->source(1);
  if (d->bounds.min <= 0) return nullptr;
  const std::optional<LinearForm> form = linear_form(n);
  if (!form) return nullptr;
  if (d->is_const()) return d->int_value() == 1 ? n : divide_by_const(graph, node, *form, d->int_value());
  if (in_range(graph, n, d)) return graph.index(0);
  const std::optional<Product> size = product_form(d);
  if (!size) return nullptr;
  for (UOpRef f : size->factors) {
    LinearForm quotient, rest;
    if (f->bounds.min <= 0 || !split_symbolic(graph, *form, f, quotient, rest)) continue;
    return graph.floordiv(build(graph, quotient), build(graph, *without(*size, f)));
  }
  return nullptr;
}

UOpRef modulo(Context& context, UOpRef node, const Match&) {
  ir::Graph& graph = context.graph;
  const UOpRef n = node->source(0), d = node->source(1);
  if (d->bounds.min <= 0) return nullptr;
  const std::optional<LinearForm> form = linear_form(n);
  if (!form) return nullptr;
  if (d->is_const()) return d->int_value() == 1 ? graph.index(0) : modulo_const(graph, node, *form, d->int_value());
  if (in_range(graph, n, d)) return n;
  const std::optional<Product> size = product_form(d);
  if (!size) return nullptr;
  for (UOpRef f : size->factors) {
    LinearForm quotient, rest;
    if (f->bounds.min <= 0 || !split_symbolic(graph, *form, f, quotient, rest)) continue;
    const UOpRef inner = build(graph, *without(*size, f));
    if (inner->is_const() && inner->int_value() == 1) return build(graph, rest);
    const UOpRef high = graph.mul(graph.floormod(build(graph, quotient), inner), f);
    return rest.add_atom(high, 1) ? build(graph, rest) : nullptr;
  }
  return nullptr;
}

constexpr Rule kIndexDivmodRules[] = {
    rule("divide_mod", kIndex, floordiv(floormod(x, c0), c1), floormod(floordiv(x, c1), val(floordiv(c0, c1))),
         c0 > 0 && c1 > 0 && floormod(c0, c1) == 0),
    rule_fn("divide_sum", any(Op::FloorDiv).dtype(kIndex | kOneLane), divide),
    rule_fn("modulo_sum", any(Op::FloorMod).dtype(kIndex | kOneLane), modulo),
};

}  // namespace

std::span<const Rule> index_divmod_rules() { return kIndexDivmodRules; }

}  // namespace hearth::rules
