#include "hearth/dim.h"

#include <algorithm>
#include <limits>

#include "base/integer_math.h"
#include "base/text.h"
#include "client/tensor/dim_encoding.h"
#include "client/tensor/dim_terms.h"
#include "client/tensor/range_parts.h"
#include "hearth/error.h"
#include "hearth/v1/graph.pb.h"

namespace hearth::client {
namespace {

using Wide = __int128;

[[noreturn]] void fail_dim(std::string message) {
  throw JitError(absl::InvalidArgumentError(str_cat("dim: ", message)));
}

std::int64_t narrow(Wide value, std::string_view what) {
  if (value > std::numeric_limits<std::int64_t>::max() || value < std::numeric_limits<std::int64_t>::min()) {
    fail_dim(str_cat(what, " overflows 64 bits; use smaller lengths or tighter variable bounds"));
  }
  return static_cast<std::int64_t>(value);
}

bool by_text(const AtomPtr& a, const AtomPtr& b) { return a->text < b->text; }

struct Interval {
  Wide low = 0, high = 0;
};

Interval times(const Interval& a, const Interval& b) {
  const Wide corners[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
  return {narrow(*std::min_element(corners, corners + 4), "a product"),
          narrow(*std::max_element(corners, corners + 4), "a product")};
}

Interval product(const std::vector<AtomPtr>& factors) {
  Interval result = {1, 1};
  for (const AtomPtr& factor : factors) result = times(result, {factor->low, factor->high});
  return result;
}

}  // namespace

constexpr int kMaxReplaced = 3;                             // of a sum's quotients, minima and maxima, to bound it
constexpr std::int64_t kMaxScaled = std::int64_t{1} << 20;  // divisors and coefficients where that is tried

struct DimAccess {
  static std::vector<Term> terms(const Dim& dim) {
    if (dim.poly_) return dim.poly_->terms;
    if (dim.value_ == 0) return {};
    return {Term{{}, dim.value_}};
  }

  // Ordered by key, unique, without zero coefficients.
  static std::vector<Term> normal(std::vector<Term> terms) {
    std::vector<std::pair<std::string, Term>> keyed;
    for (Term& term : terms) keyed.emplace_back(term.key(), std::move(term));
    std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Term> merged;
    std::string last;
    for (auto& [key, term] : keyed) {
      if (!merged.empty() && key == last) {
        merged.back().coefficient = narrow(Wide{merged.back().coefficient} + term.coefficient, "a sum");
      } else {
        merged.push_back(std::move(term));
        last = key;
      }
    }
    std::erase_if(merged, [](const Term& term) { return term.coefficient == 0; });
    return merged;
  }

  static std::vector<Term> scaled(const Dim& dim, std::int64_t factor) {
    std::vector<Term> terms = DimAccess::terms(dim);
    for (Term& term : terms) term.coefficient = narrow(Wide{term.coefficient} * factor, "a product");
    return terms;
  }

  // The constant divisor of a term that is a number times y % m, else 0.
  static std::int64_t modulus(const Term& term) {
    const bool is_one = term.factors.size() == 1 && term.factors[0]->kind == v1::ExprToken::FLOORMOD;
    return is_one && term.factors[0]->b.is_const() ? term.factors[0]->b.value() : 0;
  }

  // A length that is padded to a multiple of m, or cut to one, as that multiple: x + (-x) % m is -m * (-x / m), since
  // k * (y % m) is k*y - k*m * (y / m), where the rest of the sum and k*y are divisible by m.
  static Dim as_multiple(const Dim& sum) {
    if (!sum.poly_) return sum;
    const std::vector<Term>& terms = sum.poly_->terms;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      const std::int64_t m = modulus(terms[i]), k = terms[i].coefficient;
      if (m < 2 || m > kMaxScaled || std::abs(k) > kMaxScaled) continue;
      const Dim& y = terms[i].factors[0]->a;
      std::vector<Term> others = scaled(y, k);
      for (std::size_t j = 0; j < terms.size(); ++j)
        if (j != i) others.push_back(terms[j]);
      const Dim rest = make(std::move(others));
      if (rest == sum ||
          !std::ranges::all_of(DimAccess::terms(rest), [&](const Term& t) { return t.coefficient % m == 0; }))
        continue;
      return rest - Dim(k * m) * (y / Dim(m));
    }
    return sum;
  }

  // Bounds of the sum, each atom anywhere within its own.
  static Interval interval(const std::vector<Term>& terms) {
    if (terms.empty()) return {};
    // b*t - b is never negative for t >= 1, which only b*(t - 1) shows.
    const std::vector<AtomPtr> common = common_factors(terms);
    Interval rest;
    for (const Term& term : terms) {
      const Interval value = times(product(factors_beside(term, common)), {term.coefficient, term.coefficient});
      rest.low += value.low;
      rest.high += value.high;
    }
    return times(product(common), rest);
  }

  // A lower bound that also uses what quotients, minima and maxima mean: s - s/2 is at least s/2, s - min(s, t) at
  // least 0. Replaces one of them after the other by what bounds it, `depth` of them in a row.
  static Wide lower_bound(const std::vector<Term>& terms, int depth) {
    Wide best = interval(terms).low;
    for (std::size_t i = 0; i < terms.size() && best < 0 && depth > 0; ++i) {
      if (terms[i].factors.size() != 1 || std::abs(terms[i].coefficient) > kMaxScaled) continue;
      const Atom& atom = *terms[i].factors[0];
      const std::int64_t k = terms[i].coefficient;
      // scale * (all other terms) + k * value
      const auto with = [&](const Dim& value, std::int64_t scale) {
        std::vector<Term> sum;
        for (std::size_t j = 0; j < terms.size(); ++j) {
          if (j == i) continue;
          sum.push_back(terms[j]);
          sum.back().coefficient = narrow(Wide{scale} * terms[j].coefficient, "a product");
        }
        for (Term term : DimAccess::terms(value)) {
          term.coefficient = narrow(Wide{k} * term.coefficient, "a product");
          sum.push_back(std::move(term));
        }
        return lower_bound(normal(std::move(sum)), depth - 1);
      };
      const bool is_min = atom.kind == v1::ExprToken::MIN;
      if (is_min || atom.kind == v1::ExprToken::MAX) {
        const Wide by_a = with(atom.a, 1), by_b = with(atom.b, 1);
        best = std::max(best, is_min == (k < 0) ? std::max(by_a, by_b) : std::min(by_a, by_b));
      } else if (atom.kind == v1::ExprToken::FLOORDIV && atom.b.is_const() && atom.b.value() <= kMaxScaled) {
        const std::int64_t c = atom.b.value();  // a/c - (c-1)/c <= floor(a/c) <= a/c
        const Wide scaled = with(atom.a, c) - (k > 0 ? Wide{k} * (c - 1) : 0);
        best = std::max(best, scaled >= 0 ? (scaled + c - 1) / c : scaled / c);
      } else if (atom.kind == v1::ExprToken::FLOORMOD && k < 0 && atom.a.min() >= 0) {
        best = std::max(best, with(atom.a, 1));
      }
    }
    return best;
  }

  static Dim make(std::vector<Term> terms) {
    std::vector<Term> merged = normal(std::move(terms));
    if (merged.empty()) return Dim(0);
    if (merged.size() == 1 && merged[0].factors.empty()) return Dim(merged[0].coefficient);
    const Interval bounds = interval(merged);
    auto poly = std::make_shared<Dim::Poly>();
    poly->low =
        narrow(std::max(bounds.low, bounds.low < 0 ? lower_bound(merged, kMaxReplaced) : bounds.low), "a length");
    poly->high = narrow(bounds.high, "a length");
    poly->terms = std::move(merged);
    return Dim(std::shared_ptr<const Dim::Poly>(std::move(poly)));
  }

  static std::vector<AtomPtr> common_factors(const std::vector<Term>& terms) {
    std::vector<AtomPtr> common = terms[0].factors;
    for (const Term& term : terms) {
      std::vector<AtomPtr> shared;
      std::set_intersection(common.begin(), common.end(), term.factors.begin(), term.factors.end(),
                            std::back_inserter(shared), by_text);
      common = std::move(shared);
    }
    return common;
  }

  static std::vector<AtomPtr> factors_beside(const Term& term, const std::vector<AtomPtr>& common) {
    std::vector<AtomPtr> rest;
    std::set_difference(term.factors.begin(), term.factors.end(), common.begin(), common.end(),
                        std::back_inserter(rest), by_text);
    return rest;
  }

  static Dim atom(v1::ExprToken::Kind kind, std::string_view symbol, Dim a, Dim b, std::int64_t low,
                  std::int64_t high) {
    auto atom = std::make_shared<Atom>();
    atom->kind = kind;
    atom->text = str_cat("(", identity(a), symbol, identity(b), ")");
    atom->shown = str_cat("(", operand_text(a), " ", symbol, " ", operand_text(b), ")");
    atom->a = std::move(a);
    atom->b = std::move(b);
    atom->low = low;
    atom->high = high;
    return make({Term{{std::move(atom)}, 1}});
  }

  // What the Dim is, if that is one atom.
  static const Atom* only_atom(const Dim& dim) {
    if (!dim.poly_ || dim.poly_->terms.size() != 1) return nullptr;
    const Term& term = dim.poly_->terms[0];
    return term.coefficient == 1 && term.factors.size() == 1 ? term.factors[0].get() : nullptr;
  }

  static std::string identity(const Dim& dim) {
    if (!dim.poly_) return str_cat(dim.value_);
    std::string text;
    for (const Term& term : dim.poly_->terms) str_append(&text, term.coefficient, "*", term.key(), "+");
    return text;
  }
};

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
  return DimAccess::as_multiple(DimAccess::make(std::move(terms)));
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
