// Z3 proofs of what a rule function made of an expression: equal for all values of the leaves within their bounds, over
// the unbounded integers. What has no meaning there (loads, casts, fixed widths) stands for any value of its bounds,
// the same on both sides.
//
//   prove_instance(before, after).verdict == Verdict::Proved
#pragma once
#include "compiler/ir/graph.h"
#include "tests/unit/rules/prover.h"

namespace hearth::test {

Proof prove_instance(ir::UOpRef before, ir::UOpRef after);

}  // namespace hearth::test
