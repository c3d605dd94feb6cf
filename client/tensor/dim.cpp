#include "hearth/dim.h"

#include <algorithm>

#include "base/integer_math.h"
#include "base/text.h"
#include "client/tensor/dim_encoding.h"
#include "client/tensor/dim_sum.h"
#include "client/tensor/dim_terms.h"
#include "client/tensor/range_parts.h"
#include "hearth/error.h"
#include "hearth/v1/graph.pb.h"

namespace hearth::client {

Dim::Dim(std::shared_ptr<const Poly> poly) : poly_(std::move(poly)) {}

void Dim::refuse(std::uint64_t value) { fail_dim(str_cat("the length ", value, " does not fit in 63 bits")); }

Dim Dim::variable(Variable of) {
  const auto& [name, min, max, parts, unit] = of;
  if (name.empty()) fail_dim("a variable needs a name");
  if (min < 0 || min > max) {
    fail_dim(str_cat("variable '", name, "' has bounds [", min, ", ", max, "]; expected 0 <= min <= max"));
  }
  if (const std::string why = refusal_of(of); !why.empty())
    fail_dim(str_cat("variable '", name, "' from ", min, " to ", max, parts_text(of), ": ", why));
  if (min == max) return Dim(min);
  auto atom = std::make_shared<Atom>();
  atom->text = str_cat(name, "[", min, ",", max, "]", parts_text(of));
  atom->shown = name;
  atom->low = min;
  atom->high = max;
  atom->variable = std::move(of);
  return DimAccess::make({Term{{std::move(atom)}, 1}});
}

std::int64_t Dim::value() const {
  if (poly_) fail_dim(str_cat("'", to_string(), "' is symbolic where a constant is needed"));
  return value_;
}
std::int64_t Dim::min() const { return poly_ ? poly_->low : value_; }
std::int64_t Dim::max() const { return poly_ ? poly_->high : value_; }

static void push(v1::Expr* out, v1::ExprToken::Kind kind, std::int64_t value = 0) {
  v1::ExprToken* token = out->add_tokens();
  token->set_kind(kind);
  token->set_value(value);
}

void encode(const Dim& dim, const std::vector<Variable>& vars, v1::Expr* out) {
  if (dim.is_const()) return push(out, v1::ExprToken::CONST, dim.value());
  const std::vector<Term> terms = DimAccess::terms(dim);
  const auto push_factor = [&](const AtomPtr& factor, bool first) {
    if (factor->kind == v1::ExprToken::VAR) {
      auto found = std::find(vars.begin(), vars.end(), factor->variable);
      if (found == vars.end()) fail_dim(str_cat("variable '", factor->variable.name, "' was not collected"));
      push(out, v1::ExprToken::VAR, found - vars.begin());
    } else {
      encode(factor->a, vars, out);
      encode(factor->b, vars, out);
      push(out, factor->kind);
    }
    if (!first) push(out, v1::ExprToken::MUL);
  };
  // The sum first, then its common factors: whoever bounds it must not see b*t - b.
  const std::vector<AtomPtr> common = terms.size() > 1 ? DimAccess::common_factors(terms) : std::vector<AtomPtr>();
  bool first_term = true;
  for (const Term& term : terms) {
    const std::vector<AtomPtr> factors = DimAccess::factors_beside(term, common);
    bool first_factor = true;
    if (factors.empty() || term.coefficient != 1) {
      push(out, v1::ExprToken::CONST, term.coefficient);
      first_factor = false;
    }
    for (const AtomPtr& factor : factors) {
      push_factor(factor, first_factor);
      first_factor = false;
    }
    if (!first_term) push(out, v1::ExprToken::ADD);
    first_term = false;
  }
  for (const AtomPtr& factor : common) push_factor(factor, false);
}

Dim operator+(const Dim& a, const Dim& b) {
  if (a.is_const() && b.is_const()) return Dim(narrow(Wide{a.value_} + b.value_, "a sum"));
  std::vector<Term> terms = DimAccess::terms(a);
  for (Term& term : DimAccess::terms(b)) terms.push_back(std::move(term));
  return DimAccess::as_quotients(DimAccess::make(std::move(terms)));
}

Dim operator-(const Dim& a, const Dim& b) { return a + b * Dim(-1); }

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_const() && b.is_const()) return Dim(narrow(Wide{a.value_} * b.value_, "a product"));
  std::vector<Term> terms;
  for (const Term& one : DimAccess::terms(a)) {
    for (const Term& two : DimAccess::terms(b)) {
      Term term;
      term.coefficient = narrow(Wide{one.coefficient} * two.coefficient, "a product");
      std::merge(one.factors.begin(), one.factors.end(), two.factors.begin(), two.factors.end(),
                 std::back_inserter(term.factors), by_text);
      terms.push_back(std::move(term));
    }
  }
  return DimAccess::make(std::move(terms));
}

namespace {

void check_divisor(const Dim& a, const Dim& b) {
  if (b.min() < 1) {
    fail_dim(str_cat("'", a.to_string(), "' is divided by '", b.to_string(),
                     "', which is not provably positive; raise its lower bound"));
  }
}

// a = divisor*quotient + rest with every term of `quotient` exact.
struct Division {
  Dim quotient;
  Dim rest;
};

Division divide(const Dim& a, const Dim& b) {
  const std::vector<Term> divisor = DimAccess::terms(b);
  if (divisor.size() != 1) return a == b ? Division{1, 0} : Division{0, a};
  std::vector<Term> exact, rest;
  for (const Term& term : DimAccess::terms(a)) {
    Term left = term;
    bool divides = true;
    for (const AtomPtr& factor : divisor[0].factors) {
      auto found = std::find_if(left.factors.begin(), left.factors.end(),
                                [&](const AtomPtr& other) { return other->text == factor->text; });
      divides = divides && found != left.factors.end();
      if (divides) left.factors.erase(found);
    }
    const std::int64_t c = divisor[0].coefficient;
    const bool pure_number = divisor[0].factors.empty() && term.factors.empty();
    if (pure_number) {
      exact.push_back(Term{{}, hearth::floor_div(term.coefficient, c)});
      rest.push_back(Term{{}, hearth::floor_mod(term.coefficient, c)});
    } else if (divides && term.coefficient % c == 0) {
      left.coefficient = term.coefficient / c;
      exact.push_back(std::move(left));
    } else {
      rest.push_back(term);
    }
  }
  return {DimAccess::make(std::move(exact)), DimAccess::make(std::move(rest))};
}

// (c * (y % m) + …) % b is (c * y + …) % b where b divides c * m.
Dim without_inner_modulo(const Dim& a, const Dim& b) {
  if (!b.is_const() || b.value() > kMaxScaled) return a;
  std::vector<Term> terms;
  bool changed = false;
  for (const Term& term : DimAccess::terms(a)) {
    const std::int64_t m = DimAccess::modulus(term);
    const bool goes =
        m > 0 && m <= kMaxScaled && std::abs(term.coefficient) <= kMaxScaled && term.coefficient * m % b.value() == 0;
    changed = changed || goes;
    if (!goes) {
      terms.push_back(term);
      continue;
    }
    for (Term& inner : DimAccess::scaled(term.factors[0]->a, term.coefficient)) terms.push_back(std::move(inner));
  }
  return changed ? divide(DimAccess::make(std::move(terms)), b).rest : a;
}

bool reaches(const Dim& a, const Dim& b) {
  if ((a - b).min() >= 0) return true;
  const Atom* x = DimAccess::only_atom(a);
  return x && x->kind == v1::ExprToken::MAX && (reaches(x->a, b) || reaches(x->b, b));
}

}  // namespace

Dim operator/(const Dim& a, const Dim& b) {
  check_divisor(a, b);
  if (a.is_const() && b.is_const()) return Dim(hearth::floor_div(a.value(), b.value()));
  const Division parts = divide(a, b);
  if (parts.rest.min() >= 0 && (b - parts.rest).min() >= 1) return parts.quotient;
  const std::int64_t corners[] = {
      hearth::floor_div(parts.rest.min(), b.min()), hearth::floor_div(parts.rest.min(), b.max()),
      hearth::floor_div(parts.rest.max(), b.min()), hearth::floor_div(parts.rest.max(), b.max())};
  return parts.quotient + DimAccess::atom(v1::ExprToken::FLOORDIV, "/", parts.rest, b,
                                          *std::min_element(corners, corners + 4),
                                          *std::max_element(corners, corners + 4));
}

Dim operator%(const Dim& a, const Dim& b) {
  check_divisor(a, b);
  if (a.is_const() && b.is_const()) return Dim(hearth::floor_mod(a.value(), b.value()));
  const Dim rest = without_inner_modulo(divide(a, b).rest, b);
  if (rest.min() >= 0 && (b - rest).min() >= 1) return rest;
  return DimAccess::atom(v1::ExprToken::FLOORMOD, "%", rest, b, 0, b.max() - 1);
}

Dim min(const Dim& a, const Dim& b) {
  const Dim difference = b - a;
  if (difference.min() >= 0) return a;
  if (difference.max() <= 0) return b;
  return DimAccess::atom(v1::ExprToken::MIN, "min", a, b, std::min(a.min(), b.min()), std::min(a.max(), b.max()));
}

Dim max(const Dim& a, const Dim& b) {
  const Dim difference = b - a;
  if (difference.min() >= 0) return b;
  if (difference.max() <= 0) return a;
  return DimAccess::atom(v1::ExprToken::MAX, "max", a, b, std::max(a.min(), b.min()), std::max(a.max(), b.max()));
}

bool is_at_least(const Dim& a, const Dim& b) {
  if (reaches(a, b)) return true;
  const Atom* y = DimAccess::only_atom(b);
  if (y && y->kind == v1::ExprToken::MIN) return is_at_least(a, y->a) || is_at_least(a, y->b);
  return y && y->kind == v1::ExprToken::MAX && is_at_least(a, y->a) && is_at_least(a, y->b);
}

bool operator==(const Dim& a, const Dim& b) {
  if (a.is_const() || b.is_const()) return a.is_const() && b.is_const() && a.value_ == b.value_;
  return a.poly_ == b.poly_ || DimAccess::identity(a) == DimAccess::identity(b);
}

}  // namespace hearth::client
