// Rules over fp8, which Z3 has no type for: every value of every capture is tried, with the reference's operations.
//
//   prove_by_values(rule, domain_of(ir::Scalar::F8E4M3))     // 65,536 pairs for a rule of x and y
#pragma once
#include "tests/unit/rules/prover.h"

namespace hearth::test {

bool is_narrow_float(const Domain& domain);
Proof prove_by_values(const rewrite::Rule& rule, const Domain& domain);

}  // namespace hearth::test
