// Z3 proofs of declarative rules, made from the very objects the matcher runs: when => lhs = rhs for every value of the
// captures, where the condition holds for some. Floats: NaN is equal to NaN and -0 is not +0. Z3's work is limited by
// count, not by time: the same answer on a busy machine. fp8, which Z3 lacks, is tried value by value.
//
//   prove(rule, domain_of(ir::Scalar::I16)).verdict == Verdict::Proved
#pragma once
#include <string>

#include "compiler/rewrite/rule.h"
#include "tests/unit/rules/domain.h"

namespace hearth::test {

enum class Verdict {
  Proved,
  Refuted,
  Unknown,  // the limit was reached, of the proof or of the search for a case in which the condition holds
  Vacuous,  // the condition never holds
};
const char* to_string(Verdict verdict);

struct Proof {
  Verdict verdict;
  std::string detail;  // the counterexample; what is unknown
};
// Of one attempt, in Z3's units.
struct Limits {
  unsigned search = 100'000'000;                 // of the finite domains
  unsigned first = 150'000, lemmas = 2'000'000;  // of the integers
};
// `rule` must be spelled out: no op slots, no alternatives (families.h).
Proof prove(const rewrite::Rule& rule, const Domain& domain, const Limits& limits = {});

// Whether a counterexample is found; the search is smaller than prove's.
bool refuted(const rewrite::Rule& rule, const Domain& domain);

}  // namespace hearth::test
