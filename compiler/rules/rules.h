// The rule families and the sets made of them. Every declarative rule here is proved by tests/unit/rules.
//
//   absl::StatusOr<UOpRef> simple = rules::simplify(graph, index_expression);
#pragma once
#include <span>

#include "absl/status/statusor.h"
#include "compiler/rewrite/driver.h"

namespace hearth::rules {

// Families, one a file.
std::span<const rewrite::Rule> constant_rules();  // folding, canonical operand order
std::span<const rewrite::Rule> algebra_rules();   // identities, cancelling, gathering of constants
std::span<const rewrite::Rule> logic_rules();     // and, or, xor, not
std::span<const rewrite::Rule> where_rules();
std::span<const rewrite::Rule> compare_rules();
std::span<const rewrite::Rule> minmax_rules();
std::span<const rewrite::Rule> divmod_rules();
std::span<const rewrite::Rule> cast_rules();
std::span<const rewrite::Rule> vector_rules();
std::span<const rewrite::Rule> strength_rules();         // division by powers of two (fixed widths)
std::span<const rewrite::Rule> gate_rules();             // what gates and conditions say about what they guard
std::span<const rewrite::Rule> reduce_rules();           // reductions that need no loop
std::span<const rewrite::Rule> index_sum_rules();        // canonical sums (index only)
std::span<const rewrite::Rule> index_divmod_rules();     // div and mod of sums (index only)
std::span<const rewrite::Rule> index_compare_rules();    // comparison of sums (index only)
std::span<const rewrite::Rule> movement_rules();         // tensor level
std::span<const rewrite::Rule> tensor_identity_rules();  // those identities that keep every shape
std::span<const rewrite::Rule> fast_math_rules();        // break NaN, -0 or rounding: off by default

// Everything for scalar and index expressions (kernels after rangeify). Not for tensor-level graphs: x * 0 -> 0 loses
// the shape of x there.
const rewrite::RuleSet& standard_rules();
const rewrite::RuleSet& tensor_rules();
const rewrite::RuleSet& standard_and_fast_math_rules();

// rewrite() with standard_rules().
absl::StatusOr<ir::UOpRef> simplify(ir::Graph& graph, ir::UOpRef root);
// rewrite() with tensor_rules().
absl::StatusOr<ir::UOpRef> simplify_tensor(ir::Graph& graph, ir::UOpRef root);

}  // namespace hearth::rules
