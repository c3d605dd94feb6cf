#include "client/tensor/dim_sum.h"

#include <algorithm>
#include <limits>

#include "base/halves.h"
#include "base/text.h"
#include "hearth/error.h"
#include "hearth/v1/graph.pb.h"

namespace hearth::client {

void fail_dim(std::string message) { throw JitError(absl::InvalidArgumentError(str_cat("dim: ", message))); }

std::int64_t narrow(Wide value, std::string_view what) {
  if (value > std::numeric_limits<std::int64_t>::max() || value < std::numeric_limits<std::int64_t>::min()) {
    fail_dim(str_cat(what, " overflows 64 bits; use smaller lengths or tighter variable bounds"));
  }
  return static_cast<std::int64_t>(value);
}

bool by_text(const AtomPtr& a, const AtomPtr& b) { return a->text < b->text; }

namespace {

using Interval = DimAccess::Interval;

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

constexpr int kMaxReplaced = 3;  // of a sum's quotients, minima and maxima, to bound it

}  // namespace

// The terms but for `more` and `parts`; nothing where some of the latter are not among them.
std::optional<std::vector<Term>> DimAccess::terms_without(const std::vector<Term>& terms, std::vector<Term> more,
                                                          const std::vector<Term>& parts) {
  const auto is_same = [](const Term& a, const Term& b) {
    return a.coefficient == b.coefficient && a.key() == b.key();
  };
  for (const Term& part : parts) {
    if (std::ranges::none_of(terms, [&](const Term& term) { return is_same(term, part); })) return std::nullopt;
    more.push_back(part);
  }
  std::vector<Term> rest;
  for (const Term& term : terms)
    if (std::ranges::none_of(more, [&](const Term& part) { return is_same(term, part); })) rest.push_back(term);
  return rest;
}

// A length that is padded to a multiple of m, or cut to one, as that multiple: x + (-x) % m is -m * (-x / m), since
// k * (y % m) is k*y - k*m * (y / m), where the rest of the sum and k*y are divisible by m.
Dim DimAccess::as_multiple(const Dim& sum) {
  if (!sum.poly_) return sum;
  const std::vector<Term>& terms = sum.poly_->terms;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const std::int64_t m = modulus(terms[i]), k = terms[i].coefficient;
    if (m < 2 || m > kMaxScaled || std::abs(k) > kMaxScaled) continue;
    const Dim& y = terms[i].factors[0]->a;
    // y + y % 2 is 2 * ((y + 1) / 2), whatever else is in the sum.
    if (const auto rest = m == 2 ? terms_without(terms, {terms[i]}, scaled(y, k)) : std::nullopt)
      return make(*rest) + Dim(2 * k) * ((y + Dim(1)) / Dim(2));
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

// How often the sum holds a part of one or more terms: the largest number by which each of them is there.
std::int64_t DimAccess::times_in(const std::vector<Term>& sum, const std::vector<Term>& part) {
  std::optional<std::int64_t> least;
  for (const Term& term : part) {
    const auto at = std::ranges::find(sum, term.key(), &Term::key);
    const std::int64_t times = at == sum.end() ? 0 : at->coefficient / term.coefficient;
    if (least && (*least > 0) != (times > 0)) return 0;
    if (!least || std::abs(times) < std::abs(*least)) least = times;
  }
  return least.value_or(0);
}

// With the halves of an x, rounded down and up, and x itself, which is their sum, in their one form. A product of sums
// in another form would be a sum of products, of which nobody sees that it is positive.
Dim DimAccess::with_merged_halves(const Dim& sum) {
  if (!sum.poly_ || sum.poly_->terms.size() < 2) return sum;
  const std::vector<Term>& terms = sum.poly_->terms;
  for (const Term& half : terms) {
    if (half.factors.size() != 1 || half.factors[0]->kind != v1::ExprToken::FLOORDIV) continue;
    const Atom& quotient = *half.factors[0];
    if (!quotient.b.is_const() || quotient.b.value() != 2) continue;
    std::vector<Term> whole = DimAccess::terms(quotient.a);
    std::erase_if(whole, [](const Term& term) { return term.factors.empty(); });
    const Dim x = make(whole), down = x / Dim(2), up = (x + Dim(1)) / Dim(2);
    if (!only_atom(down) || !only_atom(up)) continue;
    const Halves<std::int64_t> written = {times_in(terms, whole), times_in(terms, DimAccess::terms(down)),
                                          times_in(terms, DimAccess::terms(up))};
    if (std::ranges::max({std::abs(written.whole), std::abs(written.down), std::abs(written.up)}) > kMaxScaled)
      continue;
    const Halves<std::int64_t> form = canonical(written);
    if (form == written) continue;
    std::vector<Term> merged = terms;
    for (const auto& [part, factor] : {std::pair(x, form.whole - written.whole),
                                       std::pair(down, form.down - written.down), std::pair(up, form.up - written.up)})
      for (Term& term : scaled(part, factor)) merged.push_back(std::move(term));
    return with_merged_halves(make(std::move(merged)));
  }
  return sum;
}

// Bounds of the sum, each atom anywhere within its own.
Interval DimAccess::interval(const std::vector<Term>& terms) {
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
Wide DimAccess::lower_bound(const std::vector<Term>& terms, int depth) {
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

std::vector<Term> DimAccess::terms(const Dim& dim) {
  if (dim.poly_) return dim.poly_->terms;
  if (dim.value_ == 0) return {};
  return {Term{{}, dim.value_}};
}

std::vector<Term> DimAccess::normal(std::vector<Term> terms) {
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

std::vector<Term> DimAccess::scaled(const Dim& dim, std::int64_t factor) {
  std::vector<Term> terms = DimAccess::terms(dim);
  for (Term& term : terms) term.coefficient = narrow(Wide{term.coefficient} * factor, "a product");
  return terms;
}

std::int64_t DimAccess::modulus(const Term& term) {
  const bool is_one = term.factors.size() == 1 && term.factors[0]->kind == v1::ExprToken::FLOORMOD;
  return is_one && term.factors[0]->b.is_const() ? term.factors[0]->b.value() : 0;
}

Dim DimAccess::make(std::vector<Term> terms) {
  std::vector<Term> merged = normal(std::move(terms));
  if (merged.empty()) return Dim(0);
  if (merged.size() == 1 && merged[0].factors.empty()) return Dim(merged[0].coefficient);
  const Interval bounds = interval(merged);
  auto poly = std::make_shared<Dim::Poly>();
  poly->low = narrow(std::max(bounds.low, bounds.low < 0 ? lower_bound(merged, kMaxReplaced) : bounds.low), "a length");
  poly->high = narrow(bounds.high, "a length");
  poly->terms = std::move(merged);
  return Dim(std::shared_ptr<const Dim::Poly>(std::move(poly)));
}

std::vector<AtomPtr> DimAccess::common_factors(const std::vector<Term>& terms) {
  std::vector<AtomPtr> common = terms[0].factors;
  for (const Term& term : terms) {
    std::vector<AtomPtr> shared;
    std::set_intersection(common.begin(), common.end(), term.factors.begin(), term.factors.end(),
                          std::back_inserter(shared), by_text);
    common = std::move(shared);
  }
  return common;
}

std::vector<AtomPtr> DimAccess::factors_beside(const Term& term, const std::vector<AtomPtr>& common) {
  std::vector<AtomPtr> rest;
  std::set_difference(term.factors.begin(), term.factors.end(), common.begin(), common.end(), std::back_inserter(rest),
                      by_text);
  return rest;
}

Dim DimAccess::atom(v1::ExprToken::Kind kind, std::string_view symbol, Dim a, Dim b, std::int64_t low,
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

const Atom* DimAccess::only_atom(const Dim& dim) {
  if (!dim.poly_ || dim.poly_->terms.size() != 1) return nullptr;
  const Term& term = dim.poly_->terms[0];
  return term.coefficient == 1 && term.factors.size() == 1 ? term.factors[0].get() : nullptr;
}

std::string DimAccess::identity(const Dim& dim) {
  if (!dim.poly_) return str_cat(dim.value_);
  std::string text;
  for (const Term& term : dim.poly_->terms) str_append(&text, term.coefficient, "*", term.key(), "+");
  return text;
}

Dim DimAccess::as_quotients(const Dim& sum) { return as_multiple(with_merged_halves(sum)); }

}  // namespace hearth::client
