#include "compiler/rules/rules.h"

namespace hearth::rules {

using rewrite::RuleSet;

namespace {

std::vector<Family> standard_families() {
  std::vector<Family> families = expression_families();
  for (Family more : {vector_rules(), strength_rules(), gate_rules(), reduce_rules()}) families.push_back(more);
  return families;
}

}  // namespace

std::vector<Family> expression_families() {
  return {constant_rules(),     index_sum_rules(),     algebra_rules(), logic_rules(),
          where_rules(),        compare_rules(),       minmax_rules(),  divmod_rules(),
          index_divmod_rules(), index_compare_rules(), cast_rules()};
}

const RuleSet& standard_rules() {
  static const RuleSet& rules = *new RuleSet(standard_families());
  return rules;
}

const RuleSet& tensor_rules() {
  static const RuleSet& rules = *new RuleSet({tensor_identity_rules(), movement_rules()});
  return rules;
}

const RuleSet& standard_and_fast_math_rules() {
  static const RuleSet& rules = *[] {
    std::vector<Family> families = standard_families();
    families.push_back(fast_math_rules());
    return new RuleSet(families);
  }();
  return rules;
}

absl::StatusOr<ir::UOpRef> simplify(ir::Graph& graph, ir::UOpRef root) {
  return rewrite::rewrite(graph, root, standard_rules());
}

absl::StatusOr<ir::UOpRef> simplify_fast(ir::Graph& graph, ir::UOpRef root) {
  return rewrite::rewrite(graph, root, standard_and_fast_math_rules());
}

absl::StatusOr<ir::UOpRef> simplify_tensor(ir::Graph& graph, ir::UOpRef root) {
  return rewrite::rewrite(graph, root, tensor_rules());
}

}  // namespace hearth::rules
