#include "compiler/ir/length.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "base/halves.h"
#include "compiler/ir/shape.h"

namespace hearth::ir {
namespace {

using Wide = __int128;
constexpr std::size_t kMaxTerms = 64;
// Coefficients stay below this, so that a sum of kMaxTerms² products of two stays within 128 bits.
constexpr Wide kMaxCoefficient = Wide{1} << 56;

struct ById {
  bool operator()(const std::vector<UOpRef>& a, const std::vector<UOpRef>& b) const {
    return std::ranges::lexicographical_compare(a, b, {}, &UOp::id, &UOp::id);
  }
};
using Polynomial = std::map<std::vector<UOpRef>, Wide, ById>;  // factors by id -> coefficient, which is not 0

void add_term(Polynomial& sum, const std::vector<UOpRef>& factors, Wide coefficient) {
  const auto at = sum.try_emplace(factors, 0).first;
  at->second += coefficient;
  if (at->second == 0) sum.erase(at);
}

UOpRef rebuild(Graph& g, const Polynomial& sum) {
  if (sum.empty()) return g.index(0);
  std::vector<UOpRef> common = sum.begin()->first;
  for (const auto& [factors, coefficient] : sum) {
    std::vector<UOpRef> shared;
    std::ranges::set_intersection(common, factors, std::back_inserter(shared), {}, &UOp::id, &UOp::id);
    common = std::move(shared);
  }
  UOpRef total = g.index(0), constant = g.index(0);
  for (const auto& [factors, coefficient] : sum) {
    std::vector<UOpRef> rest;
    std::ranges::set_difference(factors, common, std::back_inserter(rest), {}, &UOp::id, &UOp::id);
    UOpRef term = g.index(1);
    for (UOpRef factor : rest) term = fold_mul(g, term, factor);
    term = fold_mul(g, term, g.index(static_cast<std::int64_t>(coefficient)));
    (rest.empty() ? constant : total) = fold_add(g, rest.empty() ? constant : total, term);
  }
  UOpRef result = g.index(1);
  for (UOpRef factor : common) result = fold_mul(g, result, factor);
  return fold_mul(g, result, fold_add(g, total, constant));
}

// Terms that a positive constant divides leave a quotient; the rest is in [0, divisor) or stays below a division.
struct Division {
  Polynomial quotient, rest;
};
Division divide(const Polynomial& sum, std::int64_t divisor) {
  Division parts;
  for (const auto& [factors, coefficient] : sum) {
    const Wide left = ((coefficient % divisor) + divisor) % divisor;
    const Wide kept = factors.empty() ? left : left == 0 ? Wide{0} : coefficient;
    if (kept != coefficient) add_term(parts.quotient, factors, (coefficient - kept) / divisor);
    if (kept != 0) add_term(parts.rest, factors, kept);
  }
  return parts;
}

bool is_within_limits(const Polynomial& sum) {
  const auto is_small = [](const Polynomial::value_type& term) {
    return -kMaxCoefficient < term.second && kMaxCoefficient > term.second;
  };
  return sum.size() <= kMaxTerms && std::ranges::all_of(sum, is_small);
}

constexpr int kMaxDepth = 256;  // of an expression; import allows as many tokens

std::optional<Polynomial> expand(Graph& g, UOpRef x, int depth);
std::optional<Polynomial> expand_multiples(Graph& g, UOpRef x, int depth);

std::optional<Polynomial> expand_division(Graph& g, UOpRef x, int depth) {
  const auto numerator = expand_multiples(g, x->source(0), depth);
  if (!numerator) return std::nullopt;
  const std::int64_t divisor = x->source(1)->int_value();
  Division parts = divide(*numerator, divisor);
  const UOpRef rest = rebuild(g, parts.rest);
  const bool is_small = rest->bounds.min >= 0 && rest->bounds.max < divisor;
  if (x->is(Op::FloorMod)) {
    if (is_small) return parts.rest;
    return Polynomial{{{fold_floormod(g, rest, x->source(1))}, 1}};
  }
  if (!is_small) add_term(parts.quotient, {fold_floordiv(g, rest, x->source(1))}, 1);
  return parts.quotient;
}

std::optional<Polynomial> expand(Graph& g, UOpRef x, int depth) {
  if (x->is_const()) {
    Polynomial constant;
    add_term(constant, {}, x->int_value());
    return is_within_limits(constant) ? std::optional(constant) : std::nullopt;
  }
  const bool divides = x->is(Op::FloorDiv) || x->is(Op::FloorMod);
  if (divides && x->source(1)->is_const() && x->source(1)->int_value() > 0) return expand_division(g, x, depth + 1);
  if (!x->is(Op::Add) && !x->is(Op::Sub) && !x->is(Op::Mul)) return Polynomial{{{x}, 1}};
  if (depth == kMaxDepth) return std::nullopt;
  // A factor in its shortest form: of a sum of products nobody sees which sums it is the product of.
  const auto part = [&](UOpRef s) {
    return x->is(Op::Mul) ? expand_multiples(g, s, depth + 1) : expand(g, s, depth + 1);
  };
  const auto a = part(x->source(0)), b = part(x->source(1));
  if (!a || !b || a->size() * b->size() > kMaxTerms * kMaxTerms) return std::nullopt;
  Polynomial result;
  if (!x->is(Op::Mul)) result = *a;
  for (const auto& [factors, coefficient] : *b) {
    if (!x->is(Op::Mul)) {
      add_term(result, factors, x->is(Op::Add) ? coefficient : -coefficient);
      continue;
    }
    for (const auto& [other, times] : *a) {
      std::vector<UOpRef> both;
      std::ranges::merge(factors, other, std::back_inserter(both), {}, &UOp::id, &UOp::id);
      add_term(result, both, coefficient * times);
    }
  }
  return is_within_limits(result) ? std::optional(result) : std::nullopt;
}

// The sum without `part` times `scale`; nothing where some of it is not there.
std::optional<Polynomial> without(const Polynomial& sum, const Polynomial& part, Wide scale) {
  Polynomial rest = sum;
  for (const auto& [factors, coefficient] : part) {
    const auto at = rest.find(factors);
    if (at == rest.end() || at->second != coefficient * scale) return std::nullopt;
    rest.erase(at);
  }
  return rest;
}

// How often the sum holds x: the largest number by which each of its terms is there.
Wide times_in(const Polynomial& sum, const Polynomial& x) {
  std::optional<Wide> least;
  for (const auto& [factors, coefficient] : x) {
    const auto at = sum.find(factors);
    const Wide times = at == sum.end() ? 0 : at->second / coefficient;
    if (least && (*least > 0) != (times > 0)) return 0;
    if (!least || (times < 0 ? times > *least : times < *least)) least = times;
  }
  return least.value_or(Wide{0});
}

void add_scaled(Polynomial& sum, const Polynomial& part, Wide scale) {
  for (const auto& [factors, coefficient] : part) add_term(sum, factors, scale * coefficient);
}

bool is_atom(const Polynomial& x) { return x.size() == 1 && x.begin()->first.size() == 1 && x.begin()->second == 1; }

// With the halves of an x, rounded down and up, and x itself, which is their sum, in their one form (base/halves). A
// product of sums in another form would be a sum of products, of which bounds do not see that it is positive.
std::optional<Polynomial> with_merged_halves(Graph& g, const Polynomial& sum, int depth) {
  for (const auto& [factors, coefficient] : sum) {
    if (factors.size() != 1 || !factors[0]->is(Op::FloorDiv)) continue;
    if (!factors[0]->source(1)->is_const() || factors[0]->source(1)->int_value() != 2) continue;
    auto x = expand(g, factors[0]->source(0), depth + 1);
    if (!x) continue;
    x->erase(std::vector<UOpRef>());
    const UOpRef whole = rebuild(g, *x);
    const auto down = expand(g, fold_floordiv(g, whole, g.index(2)), depth + 1);
    const auto up = expand(g, fold_floordiv(g, fold_add(g, whole, g.index(1)), g.index(2)), depth + 1);
    if (!down || !up || !is_atom(*down) || !is_atom(*up)) continue;
    const Halves<Wide> written = {times_in(sum, *x), times_in(sum, *down), times_in(sum, *up)};
    const Halves<Wide> form = canonical(written);
    if (form == written) continue;
    Polynomial merged = sum;
    add_scaled(merged, *x, form.whole - written.whole);
    add_scaled(merged, *down, form.down - written.down);
    add_scaled(merged, *up, form.up - written.up);
    if (is_within_limits(merged)) return merged;
  }
  return std::nullopt;
}

// With k x + k (x mod 2), x rounded up to an even length, as 2 k ((x + 1) / 2).
std::optional<Polynomial> with_even_lengths(Graph& g, const Polynomial& sum, int depth) {
  for (const auto& [factors, k] : sum) {
    if (factors.size() != 1 || !factors[0]->is(Op::FloorMod)) continue;
    if (!factors[0]->source(1)->is_const() || factors[0]->source(1)->int_value() != 2) continue;
    const auto x = expand(g, factors[0]->source(0), depth + 1);
    if (!x) continue;
    Polynomial others = sum;
    others.erase(factors);
    std::optional<Polynomial> rest = without(others, *x, k);
    if (!rest) continue;
    const UOpRef more = fold_add(g, factors[0]->source(0), g.index(1));
    const auto half = expand(g, fold_floordiv(g, more, g.index(2)), depth + 1);
    if (!half) continue;
    add_scaled(*rest, *half, 2 * k);
    if (is_within_limits(*rest)) return rest;
  }
  return std::nullopt;
}

// With one of its remainders gone, where that can be: x + (-x) mod m, a length that is padded to a multiple of m, is
// -m * floor(-x / m), since k (y mod m) is k y - k m floor(y / m), where the rest of the sum and k y are divisible by m.
std::optional<Polynomial> with_fewer_remainders(Graph& g, const Polynomial& sum, int depth) {
  for (const auto& [factors, coefficient] : sum) {
    if (factors.size() != 1 || !factors[0]->is(Op::FloorMod) || !factors[0]->source(1)->is_const()) continue;
    const std::int64_t m = factors[0]->source(1)->int_value();
    const auto y = expand(g, factors[0]->source(0), depth + 1);
    if (!y || m < 2) continue;
    Polynomial rest = sum;
    rest.erase(factors);
    add_scaled(rest, *y, coefficient);
    if (!is_within_limits(rest) ||
        !std::ranges::all_of(rest, [m](const Polynomial::value_type& term) { return term.second % m == 0; }))
      continue;
    const auto quotient = expand(g, fold_floordiv(g, factors[0]->source(0), factors[0]->source(1)), depth + 1);
    if (!quotient) continue;
    add_scaled(rest, *quotient, -coefficient * m);
    if (is_within_limits(rest)) return rest;
  }
  return std::nullopt;
}

std::optional<Polynomial> expand_multiples(Graph& g, UOpRef x, int depth) {
  std::optional<Polynomial> sum = expand(g, x, depth);
  for (std::size_t turn = 0; sum && turn < kMaxTerms; ++turn) {
    std::optional<Polynomial> next = with_merged_halves(g, *sum, depth);
    if (!next) next = with_even_lengths(g, *sum, depth);
    if (!next) next = with_fewer_remainders(g, *sum, depth);
    if (!next) break;
    sum = std::move(next);
  }
  return sum;
}

}  // namespace

UOpRef canonical_length(Graph& g, UOpRef x) {
  // What a remainder leaves when it goes may have another form; two rounds are nearly always enough.
  constexpr int kMaxRounds = 4;
  for (int round = 0; round < kMaxRounds && !x->is_const() && !x->is(Op::Var); ++round) {
    const auto sum = expand_multiples(g, x, 0);
    UOpRef form = sum ? rebuild(g, *sum) : x;
    if (form == x) break;
    x = form;
  }
  return x;
}

namespace {

bool reaches(Graph& g, UOpRef a, UOpRef b) {
  if (a == b || canonical_length(g, fold_sub(g, a, b))->bounds.min >= 0) return true;
  return a->is(Op::Max) && (reaches(g, a->source(0), b) || reaches(g, a->source(1), b));
}

}  // namespace

bool is_at_least(Graph& g, UOpRef a, UOpRef b) {
  if (reaches(g, a, b)) return true;
  if (b->is(Op::Min)) return is_at_least(g, a, b->source(0)) || is_at_least(g, a, b->source(1));
  return b->is(Op::Max) && is_at_least(g, a, b->source(0)) && is_at_least(g, a, b->source(1));
}

}  // namespace hearth::ir
