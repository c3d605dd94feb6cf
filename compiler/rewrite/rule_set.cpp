#include "compiler/rewrite/rule_set.h"

namespace hearth::rewrite {

namespace {

// Whether a node of `op` may match node `i` of the pattern.
bool may_be(const Pattern& pattern, int i, ir::Op op) {
  const PatternNode& node = pattern[i];
  switch (node.kind) {
    case NodeKind::Operation:
    case NodeKind::AnySources:
      return node.op == op;
    case NodeKind::Literal:
      return op == ir::Op::Const || op == ir::Op::Broadcast;
    case NodeKind::OneOf:
      for (int s = 0; s < node.num_sources; ++s) {
        if (may_be(pattern, node.sources[s], op)) return true;
      }
      return false;
    default:
      return true;
  }
}

}  // namespace

RuleSet::RuleSet(const std::vector<std::span<const Rule>>& parts) : by_op_(ir::kNumOps) {
  for (std::span<const Rule> part : parts) {
    for (const Rule& rule : part) {
      if (rule.num_ops == 0) rules_.push_back(rule);
      for (int i = 0; i < rule.num_ops; ++i) rules_.push_back(instantiate(rule, rule.ops[i]));
    }
  }
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    for (int op = 0; op < ir::kNumOps; ++op) {
      if (may_be(rules_[i].lhs, 0, static_cast<ir::Op>(op))) by_op_[op].push_back(static_cast<std::uint16_t>(i));
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
