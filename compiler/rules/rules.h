// The rule families and the sets made of them. Every declarative rule here is proved by tests/unit/rules.
//
//   absl::StatusOr<UOpRef> simple = rules::simplify(graph, index_expression);
#pragma once
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/rewrite/driver.h"

namespace hearth::rules {

using Family = std::span<const rewrite::Rule>;

// Families, one a file.
Family constant_rules();  // folding, canonical operand order
Family algebra_rules();   // identities, cancelling, gathering of constants
Family logic_rules();     // and, or, xor, not
Family where_rules();
Family compare_rules();
Family minmax_rules();
Family divmod_rules();
Family cast_rules();
Family vector_rules();
Family strength_rules();         // division by powers of two (fixed widths)
Family gate_rules();             // what gates and conditions say about what they guard
Family reduce_rules();           // reductions that need no loop
Family index_sum_rules();        // canonical sums (index only)
Family index_divmod_rules();     // div and mod of sums (index only)
Family index_compare_rules();    // comparison of sums (index only)
Family movement_rules();         // tensor level
Family tensor_identity_rules();  // those identities that keep every shape
Family fast_math_rules();        // break NaN, -0 or rounding: off by default

// The families that need no conditions around them, in the order in which they are tried.
std::vector<Family> expression_families();

// Everything for scalar and index expressions (kernels after rangeify). Not for tensor-level graphs: x * 0 -> 0 loses
// the shape of x there.
const rewrite::RuleSet& standard_rules();
const rewrite::RuleSet& tensor_rules();
const rewrite::RuleSet& standard_and_fast_math_rules();

// rewrite() with standard_rules().
absl::StatusOr<ir::UOpRef> simplify(ir::Graph& graph, ir::UOpRef root);
// rewrite() with standard_and_fast_math_rules().
absl::StatusOr<ir::UOpRef> simplify_fast(ir::Graph& graph, ir::UOpRef root);
// rewrite() with tensor_rules().
absl::StatusOr<ir::UOpRef> simplify_tensor(ir::Graph& graph, ir::UOpRef root);

}  // namespace hearth::rules
