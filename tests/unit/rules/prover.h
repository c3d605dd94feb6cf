// Z3 proofs of declarative rules, made from the very objects the matcher runs: when => lhs = rhs for every value of the
// captures. Index: unbounded integers. Fixed widths: wrapping 8-bit vectors. Floats: IEEE half precision, NaN equal to
// NaN and -0 different from +0. Fast math: real numbers, nothing divided by zero.
#pragma once
#include <string>
#include <vector>

#include "compiler/rewrite/rule.h"

namespace hearth::test {

enum class Domain { Integer, Signed8, Unsigned8, Bool, Float, Real };
std::string to_string(Domain domain);
std::vector<Domain> domains_of(rewrite::DTypeSet dtypes);

enum class Verdict {
  Proved,
  Refuted,
  Unknown,  // work limit reached
  Vacuous,  // the condition never holds
};

struct Proof {
  Verdict verdict;
  std::string model;  // of a refutation
};
// `rule` must be instantiated (no op slots).
Proof prove(const rewrite::Rule& rule, Domain domain);

// Whether a counterexample is found.
bool refuted(const rewrite::Rule& rule, Domain domain);

}  // namespace hearth::test
