#include "compiler/rules/inequality.h"

#include <algorithm>

#include "compiler/rules/facts.h"
#include "compiler/rules/quotients.h"
#include "compiler/rules/range_solve.h"

namespace hearth::rules {

using ir::Op;
using ir::UOpRef;

namespace {

constexpr int kMaxSteps = 600;  // of one proof; those that succeed take fewer than 50
constexpr int kMaxDepth = 40;
constexpr std::size_t kMaxFacts = 64;
constexpr int kMaxGoals = 4;  // proofs inside of each other
const ir::DType kIndexType(ir::Scalar::Index);

Polynomial negated(const Polynomial& p) {
  Polynomial result;
  result.add(p, -1);
  return result;
}

// The length of a loop that runs: max(x, 0) is x then.
UOpRef length_of_running(UOpRef range) {
  UOpRef length = range->source(0);
  while (length->is(Op::Max)) {
    UOpRef a = length->source(0), b = length->source(1);
    if (b->bounds.max > 0 && a->bounds.max > 0) break;
    length = b->bounds.max <= 0 ? a : b;
  }
  return length;
}

bool has_atom_of_loops(const Polynomial& goal) {
  for (UOpRef atom = goal.last_atom(); atom != nullptr; atom = goal.last_atom(atom)) {
    if (contains_op(atom, Op::Range)) return true;
  }
  return false;
}

// What goes before x div n: a loop of a symbolic length, which may be x mod n; x mod n, which together with it is x.
UOpRef before_quotient(const Polynomial& goal, UOpRef quotient) {
  UOpRef modulo = nullptr;
  for (UOpRef atom = goal.last_atom(); atom != nullptr; atom = goal.last_atom(atom)) {
    if (atom->is(Op::Range) && !atom->source(0)->is_const() && !depends_on(quotient, atom)) return atom;
    if (!modulo && atom->is(Op::FloorMod) && belong_together(quotient, atom)) modulo = atom;
  }
  return modulo;
}

}  // namespace

void Inequalities::assume_difference(UOpRef a, UOpRef b, std::int64_t at_least) {
  Polynomial fact = polynomial(a);
  fact.add(b, -1);
  fact.add_constant(-at_least);
  add_fact(std::move(fact));
}

void Inequalities::add_fact(Polynomial first) {
  std::vector<Polynomial> work = {std::move(first)};
  while (!work.empty() && facts_.size() < kMaxFacts) {
    Polynomial fact = std::move(work.back());
    work.pop_back();
    if (!fact.valid()) continue;
    fact.divide_by_gcd();
    if (const Interval bounds = fact.bounds(); bounds.high && *bounds.high < 0) contradiction_ = true;
    if (fact.is_constant()) continue;
    facts_.push_back(fact);
    for (UOpRef atom = fact.last_atom(); atom != nullptr; atom = fact.last_atom(atom)) {
      const bool divides = atom->is(Op::FloorDiv), is_modulo = atom->is(Op::FloorMod);
      Polynomial f, others;
      if (!divides && !is_modulo) continue;
      const std::optional<std::int64_t> n = single_value(atom->source(1));
      if (!n || *n < 1 || !fact.split(atom, f, others) || !f.is_constant()) continue;
      const UOpRef x = atom->source(0);
      if (divides) {  // n * (x div n) is at most x and at least x - n + 1
        Polynomial without;
        without.add(others, *n);
        without.add(x, f.constant());
        if (f.constant() < 0) without.add(f, -(*n - 1));
        work.push_back(std::move(without));
        continue;
      }
      Polynomial exact = others;  // x mod n = x - n * (x div n)
      exact.add(x, f.constant());
      if (f.constant() > 0 && x->bounds.min >= 0) work.push_back(exact);  // x mod n <= x
      Polynomial quotient;
      quotient.add(quotient_of(graph_, x, *n), -f.constant());
      exact.add(quotient, *n);
      if (const Interval bounds = exact.bounds(); bounds.high && *bounds.high < 0) contradiction_ = true;
      facts_.push_back(std::move(exact));
    }
  }
}

void Inequalities::assume(UOpRef condition, bool holds) {
  for (UOpRef node : conjuncts(condition, holds ? Op::And : Op::Or)) {
    if (node->is(Op::Not)) {
      assume(node->source(0), !holds);
      continue;
    }
    if (ir::op_class(node->op) != ir::OpClass::Compare || node->source(0)->dtype != kIndexType) continue;
    UOpRef a = node->source(0), b = node->source(1);
    if (node->is(Op::Lt)) {
      holds ? assume_difference(b, a, 1) : assume_difference(a, b, 0);
    } else if (node->is(Op::Le)) {
      holds ? assume_difference(b, a, 0) : assume_difference(a, b, 1);
    } else if (node->is(Op::Eq) == holds) {
      assume_difference(a, b, 0);
      assume_difference(b, a, 0);
    }
  }
}

void Inequalities::assume_at_least(UOpRef value, std::int64_t least) {
  for (const std::size_t i : {0, 1}) {
    if (value->is(Op::Max) && value->source(1 - i)->bounds.max < least) return assume_at_least(value->source(i), least);
  }
  if (value->is(Op::Min)) {
    for (UOpRef both : value->sources) assume_at_least(both, least);
    return;
  }
  if (value->bounds.min < least) assume_difference(value, graph_.index(0), least);
}

bool Inequalities::start(Polynomial goal) {
  goal.divide_by_gcd();
  for (const Polynomial& fact : facts_) {  // what a condition says itself
    Polynomial rest = goal;
    rest.add(fact, -1);
    if (const Interval bounds = rest.bounds(); bounds.low && *bounds.low >= 0) return true;
  }
  steps_left_ = kMaxSteps;
  return prove(goal, kMaxDepth);
}

bool Inequalities::proves_non_negative(UOpRef value) { return value->bounds.min >= 0 || start(polynomial(value)); }

bool Inequalities::proves_below(UOpRef value, UOpRef limit) {
  if (value->bounds.max < limit->bounds.min) return true;
  Polynomial goal = polynomial(limit);
  goal.add(value, -1);
  goal.add_constant(-1);
  return start(goal);
}

bool Inequalities::prove_apart(const Polynomial& goal) {
  if (goals_open_ >= kMaxGoals) return false;
  std::vector<UOpRef> eliminated;
  eliminated.swap(eliminated_);
  ++goals_open_;
  const bool proved = prove(goal, kMaxDepth);
  --goals_open_;
  eliminated.swap(eliminated_);
  return proved;
}

int Inequalities::sign(const Polynomial& value) {
  const Interval bounds = value.bounds();
  if (bounds.low && *bounds.low >= 0) return 1;
  if (bounds.high && *bounds.high <= 0) return -1;
  if (value.is_constant()) return 0;
  return prove_apart(value) ? 1 : prove_apart(negated(value)) ? -1 : 0;
}

bool Inequalities::prove(Polynomial goal, int depth) {
  if (!goal.valid() || depth == 0 || --steps_left_ < 0) return false;
  if (contradiction_) return true;
  goal.divide_by_gcd();
  const Interval bounds = goal.bounds();
  if (bounds.low && *bounds.low >= 0) return true;
  if (bounds.high && *bounds.high < 0) return false;
  if (rises_from_least(goal)) return true;
  // Loops before lengths, which bound them.
  const bool any_loop = has_atom_of_loops(goal);
  for (UOpRef last = goal.last_atom(); last != nullptr; last = goal.last_atom(last)) {
    if (any_loop && !contains_op(last, Op::Range)) continue;
    UOpRef before = last->is(Op::FloorDiv) ? before_quotient(goal, last) : nullptr;
    UOpRef atom = before != nullptr ? before : last;
    Step step{atom, {}, {}, true, depth - 1};
    if (!goal.split(atom, step.factor, step.rest)) continue;
    const int direction = sign(step.factor);
    if (direction == 0) continue;
    step.rises = direction > 0;
    // An atom that comes back gets its own bound at once: a fact that led away from it may lead back for ever.
    if (std::ranges::find(eliminated_, atom) != eliminated_.end()) return prove_constant_bound(step);
    eliminated_.push_back(atom);
    const bool proved = prove_step(step, goal);
    eliminated_.pop_back();
    return proved;
  }
  return false;
}

std::optional<std::int64_t> Inequalities::least(UOpRef atom) const {
  std::optional<std::int64_t> best;
  if (atom->bounds.min != INT64_MIN) best = atom->bounds.min;
  for (const Polynomial& fact : facts_) {  // f * atom >= -c
    if (fact.terms().size() > 2 || fact.terms().back().atoms.size() != 1 || fact.terms().back().atoms[0] != atom)
      continue;
    const std::int64_t f = fact.terms().back().factor, c = fact.constant();
    if (f < 1 || (fact.terms().size() == 2 && c == 0) || c == INT64_MIN) continue;
    const std::int64_t value = c > 0 ? -(c / f) : (-c + f - 1) / f;
    if (!best || value > *best) best = value;
  }
  return best;
}

// Products of symbolic lengths: with every atom counted from its least value no term is negative.
bool Inequalities::rises_from_least(const Polynomial& goal) const {
  if (std::ranges::none_of(goal.terms(), [](const Monomial& t) { return t.atoms.size() > 1; })) return false;
  Polynomial shifted;
  for (const Monomial& term : goal.terms()) {
    Polynomial product;
    product.add_constant(term.factor);
    for (UOpRef atom : term.atoms) {
      const std::optional<std::int64_t> low = least(atom);
      if (!low) return false;
      Polynomial value;  // the atom stands for what it is above its least value
      value.add(atom);
      value.add_constant(*low);
      product.multiply(value);
    }
    shifted.add(product);
  }
  return shifted.valid() && std::ranges::all_of(shifted.terms(), [](const Monomial& t) { return t.factor >= 0; });
}

bool Inequalities::prove_step(const Step& step, const Polynomial& goal) {
  if (prove_choice(step)) return true;
  // By number: proofs inside add facts and take them away again.
  for (std::size_t i = 0, count = facts_.size(); i < count; ++i) {
    if (prove_with_fact(step, Polynomial(facts_[i]))) return true;
  }
  // What conditions say of a remainder says more than that it is one.
  return prove_modulo(step, goal) || prove_own_bound(step);
}

bool Inequalities::prove_with(const Step& step, const Polynomial& value) {
  Polynomial next = step.factor;
  next.multiply(value);
  next.add(step.rest);
  return prove(next, step.depth);
}

// f * atom + others >= 0 with a constant f bounds the atom: |f| * goal >= |f| * rest -+ factor * others.
bool Inequalities::prove_with_fact(const Step& step, const Polynomial& fact) {
  Polynomial f, others, next;
  if (!fact.split(step.atom, f, others) || !f.is_constant() || f.constant() == 0) return false;
  if ((f.constant() > 0) != step.rises) return false;
  if (step.factor.is_constant() && step.factor.constant() % f.constant() == 0) {
    next = step.rest;
    next.add(others, -(step.factor.constant() / f.constant()));
  } else {
    next.add(step.rest, std::abs(f.constant()));
    Polynomial product = step.factor;
    product.multiply(others);
    next.add(product, step.rises ? -1 : 1);
    next.add_constant(std::abs(f.constant()) - 1);  // the goal is an integer: above -1 is enough
  }
  return prove(next, step.depth);
}

bool Inequalities::prove_choice(const Step& step) {
  UOpRef choice = step.atom;
  if (!choice->is(Op::Max) && !choice->is(Op::Min) && !choice->is(Op::Where)) return false;
  const std::size_t first = choice->is(Op::Where) ? 1 : 0;
  // max is at least either operand, min at most: one is enough where the goal moves that way.
  const bool either = (choice->is(Op::Max) && step.rises) || (choice->is(Op::Min) && !step.rises);
  for (std::size_t i = 0; i < 2; ++i) {
    const std::size_t known = facts_.size();
    const bool contradiction = contradiction_;
    if (first == 1) assume(choice->source(0), i == 0);
    const bool proved = prove_with(step, polynomial(choice->source(first + i)));
    facts_.resize(known);
    contradiction_ = contradiction;
    if (proved == either) return either;
  }
  return !either;
}

// x mod n = y - n * (y div n), where the goal has y div n and n divides x - y; x mod n <= n - 1; x mod n <= x.
bool Inequalities::prove_modulo(const Step& step, const Polynomial& goal) {
  UOpRef modulo = step.atom;
  if (!modulo->is(Op::FloorMod) || modulo->source(1)->bounds.min < 1) return false;
  UOpRef x = modulo->source(0), n = modulo->source(1);
  const std::optional<std::int64_t> value_of_n = single_value(n);
  for (UOpRef quotient = goal.last_atom(); quotient != nullptr; quotient = goal.last_atom(quotient)) {
    if (!quotient->is(Op::FloorDiv) || !belong_together(quotient, modulo)) continue;
    Polynomial value = polynomial(quotient->source(0)), product = polynomial(quotient);
    product.multiply(polynomial(n));
    value.add(product, -1);
    if (prove_with(step, value)) return true;
  }
  if (step.rises) return false;
  Polynomial last = polynomial(n);
  last.add_constant(-1);
  if (!value_of_n && prove_with(step, last)) return true;
  return x->bounds.min >= 0 && prove_with(step, polynomial(x));
}

bool Inequalities::prove_by_quotients(const Step& step) {
  for (UOpRef other = step.rest.last_atom(); other != nullptr; other = step.rest.last_atom(other)) {
    const std::optional<Polynomial> fact = bound_by_quotient(step.atom, other, step.rises);
    if (fact && prove_with_fact(step, *fact)) return true;
  }
  return false;
}

bool Inequalities::prove_own_bound(const Step& step) {
  UOpRef atom = step.atom;
  const std::int64_t n = divisor_of(atom);
  if (atom->is(Op::FloorDiv) && !step.rises) {
    const std::optional<Polynomial> greatest = greatest_quotient(atom);
    if (greatest && prove_with(step, *greatest)) return true;
  }
  if (n > 0 && prove_by_quotients(step)) return true;
  if (n > 0) {  // n * (x div n) <= x <= n * (x div n) + n - 1
    Polynomial fact;
    fact.add(atom, step.rises ? n : -n);
    fact.add(atom->source(0), step.rises ? -1 : 1);
    if (step.rises) fact.add_constant(n - 1);
    if (prove_with_fact(step, fact)) return true;
  }
  if (atom->is(Op::Range) && !step.rises && !atom->source(0)->is_const()) {
    Polynomial last = polynomial(length_of_running(atom));
    last.add_constant(-1);
    if (prove_with(step, last)) return true;
  }
  return prove_constant_bound(step);
}

bool Inequalities::prove_constant_bound(const Step& step) {
  UOpRef atom = step.atom;
  const std::int64_t n = divisor_of(atom);
  std::int64_t bound = step.rises ? atom->bounds.min : atom->bounds.max;
  if (bound == INT64_MIN || bound == INT64_MAX) return false;
  for (int attempt = 0; attempt < 3; ++attempt) {
    Polynomial value;
    value.add_constant(bound);
    if (prove_with(step, value)) return true;
    if (n < 1) return false;
    // x div n < bound when x < n * bound: conditions may say more than the atom's own bounds.
    Polynomial beyond;
    beyond.add(atom->source(0), step.rises ? 1 : -1);
    value = Polynomial();
    value.add_constant(step.rises ? bound + 1 : bound);
    beyond.add(value, step.rises ? -n : n);
    if (!step.rises) beyond.add_constant(-1);
    if (!prove_apart(beyond)) return false;
    bound += step.rises ? 1 : -1;
  }
  return false;
}

}  // namespace hearth::rules
