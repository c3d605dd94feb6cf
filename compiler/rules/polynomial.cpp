#include "compiler/rules/polynomial.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "base/integer_math.h"

namespace hearth::rules {

using ir::Op;
using ir::UOpRef;

namespace {

constexpr std::size_t kMaxTerms = 96, kMaxDegree = 8;
constexpr int kMaxSteps = 500, kMaxDepth = 16;
constexpr std::int64_t kMin = INT64_MIN, kMax = INT64_MAX;
constexpr __int128 kHuge = __int128{1} << 100;  // ends beyond it are unknown

bool by_id(UOpRef a, UOpRef b) { return a->id < b->id; }

bool before(const Monomial& a, const Monomial& b) {
  return std::lexicographical_compare(a.atoms.begin(), a.atoms.end(), b.atoms.begin(), b.atoms.end(), by_id);
}

bool is_single_value(UOpRef node) {
  return node->bounds.min == node->bounds.max && node->bounds.min != kMin && node->bounds.max != kMax;
}

std::optional<__int128> product(std::optional<__int128> a, std::optional<__int128> b) {
  if ((a && *a == 0) || (b && *b == 0)) return 0;
  if (!a || !b) return std::nullopt;
  __int128 result;
  if (__builtin_mul_overflow(*a, *b, &result) || result > kHuge || result < -kHuge) return std::nullopt;
  return result;
}

Interval multiply(const Interval& a, const Interval& b) {
  const auto non_negative = [](const Interval& i) { return i.low && *i.low >= 0; };
  if (non_negative(a) && non_negative(b)) return {product(a.low, b.low), product(a.high, b.high)};
  if (!a.low || !a.high || !b.low || !b.high) return {};
  Interval result;
  for (auto x : {a.low, a.high}) {
    for (auto y : {b.low, b.high}) {
      const auto corner = product(x, y);
      if (!corner) return {};
      if (!result.low || *corner < *result.low) result.low = corner;
      if (!result.high || *corner > *result.high) result.high = corner;
    }
  }
  return result;
}

Interval bounds_of(UOpRef atom) {
  Interval result;
  if (atom->bounds.min != kMin) result.low = atom->bounds.min;
  if (atom->bounds.max != kMax) result.high = atom->bounds.max;
  return result;
}

}  // namespace

std::int64_t Polynomial::constant() const {
  return terms_.empty() || !terms_[0].atoms.empty() ? 0 : terms_[0].factor;  // the empty product is the first
}

void Polynomial::add_term(const Monomial& term, std::int64_t factor) {
  std::int64_t scaled;
  if (__builtin_mul_overflow(term.factor, factor, &scaled) || scaled == kMin || term.atoms.size() > kMaxDegree) {
    valid_ = false;
    return;
  }
  if (scaled == 0) return;
  auto at = std::lower_bound(terms_.begin(), terms_.end(), term, before);
  if (at == terms_.end() || before(term, *at)) {
    if (terms_.size() >= kMaxTerms) {
      valid_ = false;
      return;
    }
    terms_.insert(at, term)->factor = scaled;
    return;
  }
  if (__builtin_add_overflow(at->factor, scaled, &at->factor) || at->factor == kMin) valid_ = false;
  if (at->factor == 0) terms_.erase(at);
}

void Polynomial::add_constant(std::int64_t value) { add_term(Monomial{{}, value}, 1); }

void Polynomial::add(const Polynomial& other, std::int64_t factor) {
  valid_ &= other.valid_;
  for (const Monomial& term : other.terms_) add_term(term, factor);
}

void Polynomial::multiply(const Polynomial& other) {
  Polynomial result;
  result.valid_ = valid_ && other.valid_;
  for (const Monomial& a : terms_) {
    for (const Monomial& b : other.terms_) {
      Monomial both = a;
      both.atoms.insert(both.atoms.end(), b.atoms.begin(), b.atoms.end());
      std::sort(both.atoms.begin(), both.atoms.end(), by_id);
      result.add_term(both, b.factor);
      if (!result.valid_) break;
    }
  }
  *this = std::move(result);
}

void Polynomial::divide_by_gcd() {
  std::int64_t gcd = 0;
  for (const Monomial& term : terms_) {
    if (!term.atoms.empty()) gcd = std::gcd(gcd, term.factor);
  }
  if (gcd <= 1) return;
  for (Monomial& term : terms_) {
    const std::int64_t rest = term.factor % gcd;
    term.factor = term.factor / gcd - (rest < 0 ? 1 : 0);
  }
  if (!terms_.empty() && terms_[0].factor == 0) terms_.erase(terms_.begin());  // only the constant can become 0
}

bool Polynomial::is_multiple_of(std::int64_t n) const {
  return valid_ && std::ranges::all_of(terms_, [&](const Monomial& term) { return term.factor % n == 0; });
}

void Polynomial::add(UOpRef root, std::int64_t factor) { add_product(root, factor, 0); }

void Polynomial::add_product(UOpRef root, std::int64_t root_factor, int depth) {
  // What is left to add, each node multiplied by a factor; the second side of a product becomes a factor first.
  struct Part {
    UOpRef node;
    Polynomial factor;
  };
  std::vector<Part> stack(1);
  stack[0].node = root;
  stack[0].factor.add_constant(root_factor);
  for (int steps = 0; !stack.empty() && valid_; ++steps) {
    Part part = std::move(stack.back());
    stack.pop_back();
    UOpRef node = part.node;
    if (steps > kMaxSteps || depth > kMaxDepth || !part.factor.valid_) {
      valid_ = false;
    } else if (is_single_value(node)) {
      add(part.factor, node->bounds.min);
    } else if (node->is(Op::Add) || node->is(Op::Sub) || node->is(Op::Neg)) {
      Polynomial last;
      last.add(part.factor, node->is(Op::Add) ? 1 : -1);
      stack.push_back({node->sources.back(), std::move(last)});
      if (!node->is(Op::Neg)) stack.push_back({node->source(0), std::move(part.factor)});
    } else {
      Polynomial side;
      if (node->is(Op::Mul)) {
        side.add_product(node->source(1), 1, depth + 1);
        part.factor.multiply(side);
        stack.push_back({node->source(0), std::move(part.factor)});
      } else {
        side.add_term(Monomial{{node}, 1}, 1);
        part.factor.multiply(side);
        add(part.factor);
      }
    }
  }
}

std::optional<Polynomial> Polynomial::divided_by(const Polynomial& by) const {
  const Interval bounds = by.bounds();
  if (!valid_ || by.terms_.empty() || !bounds.low || *bounds.low < 1) return std::nullopt;
  // Long division by the divisor's last term; what is left must be a constant.
  const Monomial divisor = by.terms_.back();
  Polynomial quotient, rest = *this;
  for (std::size_t steps = 0; !rest.is_constant(); ++steps) {
    const Monomial* next = nullptr;
    for (const Monomial& term : rest.terms_) {
      const bool divides = term.factor % divisor.factor == 0 &&
                           std::ranges::includes(term.atoms, divisor.atoms, by_id) && !term.atoms.empty();
      if (divides) next = &term;
    }
    if (next == nullptr || steps > kMaxTerms || !rest.valid_) return std::nullopt;
    Polynomial part;
    Monomial beside{{}, next->factor / divisor.factor};
    std::ranges::set_difference(next->atoms, divisor.atoms, std::back_inserter(beside.atoms), by_id);
    part.add_term(beside, 1);
    quotient.add(part);
    part.multiply(by);
    rest.add(part, -1);
  }
  const std::int64_t c = rest.constant();
  if (by.is_constant()) {
    quotient.add_constant(floor_div(c, by.constant()));
  } else if (c >= *bounds.low || c < -*bounds.low) {
    return std::nullopt;
  } else if (c < 0) {
    quotient.add_constant(-1);
  }
  if (!quotient.valid_ || !rest.valid_) return std::nullopt;
  return quotient;
}

bool Polynomial::split(UOpRef atom, Polynomial& factor, Polynomial& rest) const {
  factor = Polynomial();
  rest = Polynomial();
  factor.valid_ = rest.valid_ = valid_;
  for (const Monomial& term : terms_) {
    auto at = std::ranges::find(term.atoms, atom);
    if (at == term.atoms.end()) {
      rest.terms_.push_back(term);
      continue;
    }
    Monomial without = term;
    without.atoms.erase(without.atoms.begin() + (at - term.atoms.begin()));
    if (std::ranges::find(without.atoms, atom) != without.atoms.end()) return false;
    factor.add_term(without, 1);
  }
  return true;
}

UOpRef Polynomial::last_atom(UOpRef before) const {
  const auto precedes = [](UOpRef a, UOpRef b) {
    return a->is(Op::Var) != b->is(Op::Var) ? a->is(Op::Var) : a->id < b->id;
  };
  UOpRef last = nullptr;
  for (const Monomial& term : terms_) {
    for (UOpRef atom : term.atoms) {
      if ((!before || precedes(atom, before)) && (!last || precedes(last, atom))) last = atom;
    }
  }
  return last;
}

Interval Polynomial::bounds() const {
  if (!valid_) return {};
  Interval sum{0, 0};
  for (const Monomial& term : terms_) {
    Interval value{term.factor, term.factor};
    Interval atoms{1, 1};
    for (UOpRef atom : term.atoms) atoms = rules::multiply(atoms, bounds_of(atom));
    value = term.factor > 0 ? Interval{product(atoms.low, term.factor), product(atoms.high, term.factor)}
                            : Interval{product(atoms.high, term.factor), product(atoms.low, term.factor)};
    const auto add = [](std::optional<__int128>& end, std::optional<__int128> part) {
      if (end && part && *end + *part < kHuge && *end + *part > -kHuge) {
        *end += *part;
      } else {
        end.reset();
      }
    };
    add(sum.low, value.low);
    add(sum.high, value.high);
  }
  return sum;
}

}  // namespace hearth::rules
