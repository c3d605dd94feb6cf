#include "tests/unit/rules/mutants.h"

#include <algorithm>
#include <map>

namespace hearth::test {

using ir::Op;
using rewrite::NodeKind;
using rewrite::Pattern;
using rewrite::PatternNode;
using rewrite::Rule;

namespace {

// Another operation of as many operands.
std::vector<Op> others(Op op) {
  static const std::map<Op, std::vector<Op>> table = {
      {Op::Add, {Op::Sub}},
      {Op::Sub, {Op::Add}},
      {Op::Mul, {Op::Add}},
      {Op::Lt, {Op::Le}},
      {Op::Le, {Op::Lt}},
      {Op::Eq, {Op::Ne}},
      {Op::Ne, {Op::Eq}},
      {Op::And, {Op::Or, Op::Xor}},
      {Op::Or, {Op::And, Op::Xor}},
      {Op::Xor, {Op::Or}},
      {Op::Max, {Op::Min}},
      {Op::Min, {Op::Max}},
      {Op::Shl, {Op::Shr}},
      {Op::Shr, {Op::Shl}},
      {Op::Div, {Op::Mul}},
      {Op::FloorDiv, {Op::FloorMod, Op::TruncDiv}},
      {Op::FloorMod, {Op::FloorDiv, Op::TruncMod}},
      {Op::TruncDiv, {Op::TruncMod, Op::FloorDiv}},
      {Op::TruncMod, {Op::TruncDiv, Op::FloorMod}},
      {Op::Floor, {Op::Ceil}},
      {Op::Ceil, {Op::Floor}},
      {Op::Trunc, {Op::Round}},
      {Op::Round, {Op::Trunc}},
      {Op::Neg, {Op::Abs}},
      {Op::Abs, {Op::Neg}},
  };
  const auto found = table.find(op);
  return found == table.end() ? std::vector<Op>() : found->second;
}

// Captures of the left side that can stand where `capture` does.
std::vector<std::uint8_t> other_captures(const Pattern& lhs, int capture) {
  const auto kind = [](int c) { return rewrite::is_const_capture(c) ? 2 : rewrite::is_bool_capture(c) ? 1 : 0; };
  std::vector<std::uint8_t> found;
  for (int i = 0; i < lhs.size(); ++i) {
    const std::uint8_t other = lhs[i].capture;
    if (lhs[i].kind != NodeKind::Capture || other == capture || kind(other) != kind(capture)) continue;
    if (std::ranges::find(found, other) == found.end()) found.push_back(other);
  }
  return found;
}

// `pattern` with node `i` changed in each way, to `keep`.
template <class Keep>
void change_node(const Pattern& pattern, int i, const Pattern& lhs, Keep keep) {
  const PatternNode& node = pattern[i];
  const auto with = [&](auto change) {
    Pattern changed = pattern;
    change(changed.at(i));
    keep(changed);
  };
  if (node.kind == NodeKind::Literal) {
    for (const std::int64_t other : {node.value + 1, node.value - 1}) {
      with([&](PatternNode& n) { n.value = other; });
    }
  } else if (node.kind == NodeKind::Operation) {
    for (const Op other : others(node.op)) {
      with([&](PatternNode& n) { n.op = other; });
    }
  } else if (node.kind == NodeKind::Capture) {
    for (const std::uint8_t other : other_captures(lhs, node.capture)) {
      with([&](PatternNode& n) { n.capture = other; });
    }
  } else if (node.kind == NodeKind::VMin || node.kind == NodeKind::VMax) {
    with([&](PatternNode& n) { n.kind = node.kind == NodeKind::VMin ? NodeKind::VMax : NodeKind::VMin; });
  }
}

// The part of a pattern below node `from`.
Pattern part(const Pattern& p, int from) {
  const PatternNode& node = p[from];
  Pattern result = node.num_sources == 0 ? Pattern::leaf(node.kind, node.capture)
                   : node.num_sources == 1
                       ? Pattern::operation(node.op, part(p, node.sources[0]))
                       : Pattern::operation(node.op, part(p, node.sources[0]), part(p, node.sources[1]));
  result.at(0).kind = node.kind;
  result.at(0).value = node.value;
  return result;
}

// The condition without one operand of an And or Or, at any depth.
void drop_parts(const Pattern& when, int i, std::vector<Pattern>& result) {
  const PatternNode& node = when[i];
  if (node.kind != NodeKind::Operation || (node.op != Op::And && node.op != Op::Or)) return;
  for (int s = 0; s < 2; ++s) {
    const int kept = node.sources[s], other = node.sources[1 - s];
    std::vector<Pattern> inner;
    drop_parts(when, kept, inner);
    for (const Pattern& changed : inner) {
      result.push_back(s == 0 ? Pattern::operation(node.op, changed, part(when, other))
                              : Pattern::operation(node.op, part(when, other), changed));
    }
    if (node.op == Op::And) result.push_back(part(when, kept));
  }
}

}  // namespace

std::vector<Rule> mutants(const Rule& rule) {
  std::vector<Rule> result;
  std::vector<std::string> texts = {to_string(rule)};
  const auto add = [&](const Rule& mutant) {
    const std::string text = to_string(mutant);
    if (std::ranges::find(texts, text) != texts.end()) return;
    texts.push_back(text);
    result.push_back(mutant);
  };
  for (int i = 0; i < rule.rhs.size(); ++i) {
    change_node(rule.rhs, i, rule.lhs, [&](const Pattern& rhs) {
      Rule mutant = rule;
      mutant.rhs = rhs;
      add(mutant);
    });
  }
  const auto add_condition = [&](const Pattern& when) {
    bool has_or = false, has_log2 = false;
    for (int i = 0; i < when.size(); ++i) {
      has_log2 |= when[i].kind == NodeKind::Log2;
      const Op op = when[i].kind == NodeKind::Operation ? when[i].op : Op::Const;
      has_or |= op == Op::Or;
      if (op == Op::Xor || op == Op::TruncDiv || op == Op::TruncMod) return;  // conditions have none
    }
    if (has_or && has_log2) return;  // nor this
    Rule mutant = rule;
    mutant.when = when;
    add(mutant);
  };
  if (!rule.when.empty()) {
    add_condition({});
    std::vector<Pattern> weaker;
    drop_parts(rule.when, 0, weaker);
    for (const Pattern& when : weaker) add_condition(when);
  }
  for (int i = 0; i < rule.when.size(); ++i) change_node(rule.when, i, rule.lhs, add_condition);
  return result;
}

}  // namespace hearth::test
