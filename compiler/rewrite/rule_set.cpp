#include "compiler/rewrite/rule_set.h"

namespace hearth::rewrite {

RuleSet::RuleSet(const std::vector<std::span<const Rule>>& parts) : by_op_(ir::kNumOps) {
  for (std::span<const Rule> part : parts) {
    for (const Rule& rule : part) {
      if (rule.num_ops == 0) rules_.push_back(rule);
      for (int i = 0; i < rule.num_ops; ++i) rules_.push_back(instantiate(rule, rule.ops[i]));
    }
  }
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const PatternNode& root = rules_[i].lhs[0];
    for (int op = 0; op < ir::kNumOps; ++op) {
      const bool wildcard = root.kind == NodeKind::Capture;
      if (wildcard || static_cast<int>(root.op) == op) by_op_[op].push_back(static_cast<std::uint16_t>(i));
    }
  }
}

RuleSet::Result RuleSet::apply(Context& context, ir::UOpRef node) const {
  for (std::uint16_t i : by_op_[static_cast<int>(node->op)]) {
    if (ir::UOpRef result = rewrite::apply(rules_[i], context, node)) return {result, i};
  }
  return {};
}

}  // namespace hearth::rewrite
