// Rule: left side -> right side when a condition holds, for the dtypes it is proved for. Plain constexpr data.
// rule_fn gives the result by a function where a pattern cannot say it; such rules are tested on instances. A rule of
// casts holds for the types that for_types says: it is proved for every three of them.
//
//   constexpr Rule kRules[] = {
//       rule("add_zero", kInts, x + 0, x),
//       rule("floordiv_self", kInts, floordiv(x, x), 1, vmin(x) > 0 || vmax(x) < 0),
//       for_ops({Op::And, Op::Or}, rule("idempotent", kFixed | kBool, op2(x, x), x)),
//       for_types(casts_compose, rule("cast_cast", kAll, cast(through(u)), cast(u))),
//   };
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>

#include "compiler/ir/graph.h"
#include "compiler/ir/shape.h"
#include "compiler/rewrite/matcher.h"

namespace hearth::rewrite {

// What a rule function may use. One per rewrite call.
struct Context {
  explicit Context(ir::Graph& graph) : graph(graph), shapes(graph) {}
  ir::Graph& graph;
  ir::ShapeCache shapes;
};

// The replacement, or null when the rule does not apply after all.
using RuleFn = ir::UOpRef (*)(Context& context, ir::UOpRef node, const Match& match);

// Whether the rule holds where `u` is of type `from` (one lane), through() of `through` and the whole of `to`.
using TypesFn = bool (*)(ir::DType from, ir::DType through, ir::DType to);

struct Rule {
  std::string_view name;
  DTypeSet dtypes = 0;
  Pattern lhs, rhs, when;
  std::array<ir::Op, 8> ops{};  // for_ops
  int num_ops = 0;
  RuleFn fn = nullptr;
  TypesFn types = nullptr;  // for_types
};

constexpr Rule rule(std::string_view name, DTypeSet dtypes, const Pattern& lhs, const Pattern& rhs,
                    const Pattern& when = {}) {
  return Rule{name, dtypes, lhs, rhs, when, {}, 0, nullptr, nullptr};
}
constexpr Rule rule_fn(std::string_view name, const Pattern& lhs, RuleFn fn) {
  return Rule{name, kAll, lhs, {}, {}, {}, 0, fn, nullptr};
}
constexpr Rule for_types(TypesFn types, Rule rule) {
  rule.types = types;
  return rule;
}
constexpr Rule for_ops(std::initializer_list<ir::Op> ops, Rule rule) {
  for (ir::Op op : ops) rule.ops[rule.num_ops++] = op;
  return rule;
}
// The rule with its op slots set.
Rule instantiate(const Rule& rule, ir::Op op);

// "add_zero: add(x, 0) -> x".
std::string to_string(const Rule& rule);

// Whether a condition holds; false when it cannot be computed.
bool holds(const Pattern& when, const Match& match);

// Builds a right side for `root`; null when a val() has no value.
ir::UOpRef build(ir::Graph& graph, const Pattern& pattern, const Match& match, ir::UOpRef root);

// The rule at `node`: the replacement, or null.
ir::UOpRef apply(const Rule& rule, Context& context, ir::UOpRef node);

}  // namespace hearth::rewrite
