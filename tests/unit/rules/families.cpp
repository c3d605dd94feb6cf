#include "tests/unit/rules/families.h"

namespace hearth::test {

using rewrite::NodeKind;
using rewrite::Pattern;
using rewrite::PatternNode;
using rewrite::Rule;

namespace {

// `node` over these sources.
Pattern over(const PatternNode& node, const std::vector<Pattern>& s) {
  Pattern result = s.empty()       ? Pattern::leaf(node.kind, node.capture)
                   : s.size() == 1 ? Pattern::operation(node.op, s[0])
                   : s.size() == 2 ? Pattern::operation(node.op, s[0], s[1])
                   : s.size() == 3 ? Pattern::operation(node.op, s[0], s[1], s[2])
                                   : Pattern::operation(node.op, s[0], s[1], s[2], s[3]);
  PatternNode& root = result.at(0);
  root.kind = node.kind;
  root.op = node.op;
  root.op_slot = node.op_slot;
  root.dtypes = node.dtypes;
  root.value = node.value;
  return result;
}

std::vector<Pattern> alternatives_at(const Pattern& pattern, int i) {
  const PatternNode& node = pattern[i];
  std::vector<Pattern> result;
  if (node.kind == NodeKind::OneOf) {
    for (int s = 0; s < node.num_sources; ++s) {
      for (const Pattern& one : alternatives_at(pattern, node.sources[s])) result.push_back(one);
    }
    return result;
  }
  std::vector<std::vector<Pattern>> combinations = {{}};
  for (int s = 0; s < node.num_sources; ++s) {
    std::vector<std::vector<Pattern>> longer;
    for (const std::vector<Pattern>& sources : combinations) {
      for (const Pattern& one : alternatives_at(pattern, node.sources[s])) {
        longer.push_back(sources);
        longer.back().push_back(one);
      }
    }
    combinations = std::move(longer);
  }
  for (const std::vector<Pattern>& sources : combinations) result.push_back(over(node, sources));
  return result;
}

}  // namespace

std::vector<Pattern> alternatives(const Pattern& pattern) { return alternatives_at(pattern, 0); }

std::vector<Rule> instances(const Family& family) {
  std::vector<Rule> all;
  const auto add = [&](const Rule& rule) {
    if (rule.fn != nullptr) return all.push_back(rule);
    for (const Pattern& lhs : alternatives(rule.lhs)) {
      all.push_back(rule);
      all.back().lhs = lhs;
    }
  };
  for (const Rule& rule : family.rules) {
    if (rule.num_ops == 0) add(rule);
    for (int i = 0; i < rule.num_ops; ++i) add(rewrite::instantiate(rule, rule.ops[i]));
  }
  return all;
}

}  // namespace hearth::test
