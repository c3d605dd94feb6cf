#include "compiler/rewrite/rule_set.h"

#include <atomic>

namespace hearth::rewrite {

namespace {

// Whether a node of `op` may match node `i` of the pattern.
bool may_be(const Pattern& pattern, int i, ir::Op op) {
  const PatternNode& node = pattern[i];
  switch (node.kind) {
    case NodeKind::Operation:
    case NodeKind::AnySources:
    case NodeKind::Through:
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

// Operations that a node's sources must have for it to match the pattern.
std::bitset<ir::kNumOps> source_ops(const Pattern& pattern) {
  std::bitset<ir::kNumOps> ops;
  if (pattern[0].kind != NodeKind::Operation) return ops;
  for (int s = 0; s < pattern[0].num_sources; ++s) {
    const PatternNode& source = pattern[pattern[0].sources[s]];
    if (source.kind == NodeKind::Operation || source.kind == NodeKind::AnySources || source.kind == NodeKind::Through)
      ops.set(static_cast<std::size_t>(source.op));
    if (source.kind == NodeKind::Lanes) ops.set(static_cast<std::size_t>(ir::Op::Extract));
    if (source.kind == NodeKind::Stacked) ops.set(static_cast<std::size_t>(ir::Op::Stack));
  }
  return ops;
}

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

RuleSet::RuleSet(const std::vector<std::span<const Rule>>& parts) : by_op_(ir::kNumOps), number_(next_number()) {
  for (std::span<const Rule> part : parts) {
    for (const Rule& rule : part) {
      if (rule.num_ops == 0) rules_.push_back(rule);
      for (int i = 0; i < rule.num_ops; ++i) rules_.push_back(instantiate(rule, rule.ops[i]));
    }
  }
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    for (int op = 0; op < ir::kNumOps; ++op) {
      if (may_be(rules_[i].lhs, 0, static_cast<ir::Op>(op)))
        by_op_[op].push_back({static_cast<std::uint16_t>(i), source_ops(rules_[i].lhs)});
    }
  }
}

RuleSet::Result RuleSet::apply(Context& context, ir::UOpRef node) const {
  OpSet ops;
  for (ir::UOpRef source : node->sources) ops.set(static_cast<std::size_t>(source->op));
  for (const Candidate& candidate : by_op_[static_cast<int>(node->op)]) {
    if ((candidate.sources & ~ops).any()) continue;
    if (ir::UOpRef result = rewrite::apply(rules_[candidate.rule], context, node)) return {result, candidate.rule};
  }
  return {};
}

}  // namespace hearth::rewrite
