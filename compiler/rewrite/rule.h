// Rule: left side -> right side when a condition holds, for the dtypes it is proved for. Plain constexpr data.
// rule_fn gives the result by a function where a pattern cannot say it; such rules are tested on instances.
//
//   constexpr Rule kRules[] = {
//       rule("add_zero", kInts, x + 0, x),
//       rule("floordiv_self", kInts, floordiv(x, x), 1, vmin(x) > 0 || vmax(x) < 0),
//       for_ops({Op::And, Op::Or}, rule("idempotent", kFixed | kBool, op2(x, x), x)),
//   };
#pragma once
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "compiler/ir/graph.h"
#include "compiler/ir/shape.h"
#include "compiler/rewrite/pattern.h"

namespace hearth::rewrite {

// The element types a rule holds for.
using DTypeSet = std::uint8_t;
inline constexpr DTypeSet kIndex = 1, kSigned = 2, kUnsigned = 4, kBool = 8, kFloat = 16;
inline constexpr DTypeSet kFixed = kSigned | kUnsigned, kInts = kFixed | kIndex, kAll = kInts | kBool | kFloat;
// The one class of a dtype; 0 for void.
DTypeSet dtype_class(ir::DType dtype);

// What a rule function may use. One per rewrite call.
struct Context {
  explicit Context(ir::Graph& graph) : graph(graph), shapes(graph) {}
  ir::Graph& graph;
  ir::ShapeCache shapes;
};

struct Match {
  std::array<ir::UOpRef, kNumCaptures> captures{};
  ir::DType element;  // dtype of x, y, z, w and c0..c3; void when the pattern has none
  ir::UOpRef operator[](const Pattern& capture) const { return captures[capture[0].capture]; }
};

// The replacement, or null when the rule does not apply after all.
using RuleFn = ir::UOpRef (*)(Context& context, ir::UOpRef node, const Match& match);

struct Rule {
  std::string_view name;
  DTypeSet dtypes = 0;
  Pattern lhs, rhs, when;
  std::array<ir::Op, 8> ops{};  // for_ops
  int num_ops = 0;
  RuleFn fn = nullptr;
};

constexpr Rule rule(std::string_view name, DTypeSet dtypes, const Pattern& lhs, const Pattern& rhs,
                    const Pattern& when = {}) {
  return Rule{name, dtypes, lhs, rhs, when, {}, 0, nullptr};
}
constexpr Rule rule_fn(std::string_view name, const Pattern& lhs, RuleFn fn) {
  return Rule{name, kAll, lhs, {}, {}, {}, 0, fn};
}
constexpr Rule for_ops(std::initializer_list<ir::Op> ops, Rule rule) {
  for (ir::Op op : ops) rule.ops[rule.num_ops++] = op;
  return rule;
}
// The rule with its op slots set.
Rule instantiate(const Rule& rule, ir::Op op);

// "add_zero: add(x, 0) -> x".
std::string to_string(const Rule& rule);

// The constant of a Const, or of a Broadcast of one; else null.
const ir::ConstValue* as_const(ir::UOpRef node);

// Matches `pattern` at `node`: every order of every commutative operation is tried, nothing is allocated. Leaves the
// condition to the caller, who asks again for the next way with `resume` (false: from the start).
class Matcher {
 public:
  Matcher(const Pattern& pattern, DTypeSet dtypes, ir::UOpRef node) : pattern_(pattern), dtypes_(dtypes) {
    subjects_[0] = node;
  }
  // The next way in which the pattern matches; false when there is none.
  bool next();
  const Match& match() const { return match_; }

 private:
  bool visit(int i);
  bool bind(int i);
  bool unify(ir::DType dtype, int i);
  void undo(int from);

  const Pattern& pattern_;
  DTypeSet dtypes_;
  Match match_;
  std::array<ir::UOpRef, Pattern::kMaxNodes> subjects_{};
  std::array<std::uint8_t, kNumCaptures> bound_at_{};       // pattern node + 1 that bound the capture
  std::uint8_t element_at_ = 0;                             // pattern node + 1 that fixed the element type
  std::array<std::uint8_t, Pattern::kMaxNodes> choices_{};  // nodes whose other order is still to be tried
  int num_choices_ = 0;
  bool started_ = false;
};

// Whether a condition holds; false when it cannot be computed.
bool holds(const Pattern& when, const Match& match);

// Builds a right side for `root`; null when a val() has no value.
ir::UOpRef build(ir::Graph& graph, const Pattern& pattern, const Match& match, ir::UOpRef root);

// The rule at `node`: the replacement, or null.
ir::UOpRef apply(const Rule& rule, Context& context, ir::UOpRef node);

}  // namespace hearth::rewrite
