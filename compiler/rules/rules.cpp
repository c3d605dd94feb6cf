#include "compiler/rules/rules.h"

namespace hearth::rules {

using rewrite::RuleSet;

const RuleSet& standard_rules() {
  static const RuleSet& rules =
      *new RuleSet({constant_rules(), index_sum_rules(), algebra_rules(), logic_rules(), where_rules(), compare_rules(),
                    minmax_rules(), divmod_rules(), index_divmod_rules(), index_compare_rules(), cast_rules(),
                    vector_rules(), strength_rules(), gate_rules(), reduce_rules()});
  return rules;
}

const RuleSet& tensor_rules() {
  static const RuleSet& rules = *new RuleSet({tensor_identity_rules(), movement_rules()});
  return rules;
}

const RuleSet& standard_and_fast_math_rules() {
  static const RuleSet& rules =
      *new RuleSet({constant_rules(), index_sum_rules(), algebra_rules(), logic_rules(), where_rules(), compare_rules(),
                    minmax_rules(), divmod_rules(), index_divmod_rules(), index_compare_rules(), cast_rules(),
                    vector_rules(), strength_rules(), gate_rules(), reduce_rules(), fast_math_rules()});
  return rules;
}

absl::StatusOr<ir::UOpRef> simplify(ir::Graph& graph, ir::UOpRef root) {
  return rewrite::rewrite(graph, root, standard_rules());
}

absl::StatusOr<ir::UOpRef> simplify_tensor(ir::Graph& graph, ir::UOpRef root) {
  return rewrite::rewrite(graph, root, tensor_rules());
}

}  // namespace hearth::rules
