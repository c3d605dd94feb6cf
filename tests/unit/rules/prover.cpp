#include "tests/unit/rules/prover.h"

#include <optional>

#include "tests/unit/rules/known_answers.h"
#include "tests/unit/rules/narrow_floats.h"
#include "tests/unit/rules/rule_encoding.h"

namespace hearth::test {

using Divisions = RuleEncoding::Divisions;
using z3::expr;

namespace {

z3::solver make_solver(z3::context& context, const Domain& domain, unsigned limit) {
  z3::solver solver(context, z3::solver::simple());  // its tactics for integers know less than its core
  if (domain.theory == Theory::Float) solver = z3::tactic(context, "qffp").mk_solver();
  if (domain.is_vector()) {
    solver =
        (z3::tactic(context, "simplify") & z3::tactic(context, "solve-eqs") & z3::tactic(context, "smt")).mk_solver();
  }
  z3::params params(context);
  params.set("rlimit", limit);
  solver.set(params);
  return solver;
}

// One way to prove a rule, or to refute it.
struct Attempt {
  unsigned limit;
  Divisions divisions = Divisions::Exact;
  int lemmas = 0;          // of integer division
  bool near_zero = false;  // a smaller space: for counterexamples and witnesses
  bool cases = false;      // each value of the bools and each power of two apart
};

class Prover {
 public:
  Prover(const rewrite::Rule& rule, const Domain& domain, const Attempt& attempt)
      : attempt_(attempt), encoding_(context_, rule, domain, attempt.divisions) {
    if (attempt.near_zero) encoding_.search_near_zero();
    if (domain.theory == Theory::Integer && !attempt.near_zero) encoding_.add_division_lemmas(attempt.lemmas);
  }

  bool has_divisions() const { return encoding_.has_divisions(); }
  bool has_cases() const { return !encoding_.cases().empty(); }

  // Whether the condition holds somewhere.
  Proof premise() {
    const z3::expr_vector none(context_);
    z3::solver solver = premises(none, none);
    const z3::check_result found = ask(solver);
    if (found == z3::sat) return {Verdict::Proved, ""};
    if (found == z3::unsat) return {Verdict::Vacuous, ""};
    return {Verdict::Unknown, "whether the condition ever holds: " + solver.reason_unknown()};
  }

  Proof conclusion() {
    std::vector<std::size_t> chosen(attempt_.cases ? encoding_.cases().size() : 0);
    do {
      z3::expr_vector from(context_), to(context_);
      for (std::size_t i = 0; i < chosen.size(); ++i) {
        from.push_back(encoding_.cases()[i].value);
        to.push_back(encoding_.cases()[i].ways[chosen[i]]);
      }
      z3::solver solver = premises(from, to);
      expr equal = *encoding_.lhs == *encoding_.rhs;
      if (encoding_.is_well_formed) equal = equal && *encoding_.is_well_formed;
      solver.add((!equal).substitute(from, to));
      const z3::check_result found = ask(solver);
      if (found == z3::unknown) return {Verdict::Unknown, solver.reason_unknown()};
      if (found == z3::unsat) continue;
      return {Verdict::Refuted, model_of(solver)};
    } while (next(chosen));
    return {Verdict::Proved, ""};
  }

 private:
  z3::check_result ask(z3::solver& solver) const {
    return known_answers().check(solver, to_string(encoding_.domain()) + ", " + std::to_string(attempt_.limit));
  }

  // Counts through all combinations of cases; false after the last.
  bool next(std::vector<std::size_t>& chosen) const {
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      if (++chosen[i] < encoding_.cases()[i].ways.size()) return true;
      chosen[i] = 0;
    }
    return false;
  }

  z3::solver premises(const z3::expr_vector& from, const z3::expr_vector& to) {
    z3::solver solver = make_solver(context_, encoding_.domain(), attempt_.limit);
    const auto add = [&](expr e) { solver.add(e.substitute(from, to)); };
    for (unsigned i = 0; i < encoding_.facts.size(); ++i) add(encoding_.facts[static_cast<int>(i)]);
    add(*encoding_.when);
    return solver;
  }

  Attempt attempt_;
  z3::context context_;
  RuleEncoding encoding_;
};

// A witness near zero is the easy answer; else the whole space has to give one.
Proof premise_of(const rewrite::Rule& rule, const Domain& domain, const Limits& limits) {
  const bool integers = domain.theory == Theory::Integer;
  Proof proof = Prover(rule, domain, {.limit = integers ? limits.lemmas : limits.search, .near_zero = true}).premise();
  if (integers && proof.verdict != Verdict::Proved) proof = Prover(rule, domain, {.limit = limits.lemmas}).premise();
  return proof;
}

Proof prove_integers(const rewrite::Rule& rule, const Domain& domain, const Limits& limits) {
  Proof proof{Verdict::Unknown, ""};
  for (int effort = 0; effort < 4 && proof.verdict == Verdict::Unknown; ++effort) {
    proof = Prover(rule, domain, {.limit = effort == 0 ? limits.first : limits.lemmas, .lemmas = effort}).conclusion();
  }
  return proof;
}

Proof prove_finite(const rewrite::Rule& rule, const Domain& domain, const Limits& limits) {
  Prover exact(rule, domain, {.limit = limits.search});
  if (exact.has_cases()) return Prover(rule, domain, {.limit = limits.search, .cases = true}).conclusion();
  // Facts about a division are enough for most proofs, whatever the width; what they do not exclude is no
  // counterexample.
  if (exact.has_divisions() && domain.is_vector()) {
    const Proof proof = Prover(rule, domain, {.limit = limits.search, .divisions = Divisions::Named}).conclusion();
    if (proof.verdict == Verdict::Proved) return proof;
  }
  return exact.conclusion();
}

}  // namespace

const char* to_string(Verdict verdict) {
  constexpr const char* kNames[] = {"proved", "refuted", "unknown", "vacuous"};
  return kNames[static_cast<int>(verdict)];
}

Proof prove(const rewrite::Rule& rule, const Domain& domain, const Limits& limits) {
  // Elements that are only moved are of any type: those of a byte stand for all.
  if (moves_elements(rule) && domain.type != ir::Scalar::I8) return prove(rule, domain_of(ir::Scalar::I8), limits);
  if (is_narrow_float(domain)) return prove_by_values(rule, domain);
  if (const Proof premise = premise_of(rule, domain, limits); premise.verdict != Verdict::Proved) return premise;
  return domain.theory == Theory::Integer ? prove_integers(rule, domain, limits) : prove_finite(rule, domain, limits);
}

bool refuted(const rewrite::Rule& rule, const Domain& domain) {
  if (moves_elements(rule) && domain.type != ir::Scalar::I8) return refuted(rule, domain_of(ir::Scalar::I8));
  if (is_narrow_float(domain)) return prove_by_values(rule, domain).verdict == Verdict::Refuted;
  const Limits limits;
  const unsigned limit = domain.theory == Theory::Integer ? limits.lemmas : limits.search;
  return Prover(rule, domain, {.limit = limit, .near_zero = true}).conclusion().verdict == Verdict::Refuted;
}

}  // namespace hearth::test
