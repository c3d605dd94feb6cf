// Comparisons of index sums: common terms cancel, common factors divide out, symbolic sizes are compared by structure.
#include <numeric>

#include "compiler/rewrite/fold.h"
#include "compiler/rules/linear_form.h"
#include "compiler/rules/rules.h"

namespace hearth::rules {

using ir::Op;
using ir::UOpRef;
using namespace rewrite;
using namespace rewrite::dsl;

namespace {

bool is_index_pair(UOpRef node) {
  const ir::DType index(ir::Scalar::Index);
  return node->source(0)->dtype == index && node->source(1)->dtype == index;
}

// a < b by the bounds of a - b or by structure.
UOpRef decide_less(Context& context, UOpRef node, const Match&) {
  if (!is_index_pair(node)) return nullptr;
  ir::Graph& graph = context.graph;
  const UOpRef a = node->source(0), b = node->source(1);
  const bool strict = node->is(Op::Lt);
  LinearForm difference;
  if (difference.add(a) && difference.add(b, -1)) {
    const Interval bounds = difference.bounds();
    if (bounds.high && *bounds.high < (strict ? 0 : 1)) return graph.boolean(true);
    if (bounds.low && *bounds.low >= (strict ? 0 : 1)) return graph.boolean(false);
  }
  if (!b->is_const() && provably_less(graph, a, b) && provably_non_negative(a)) return graph.boolean(true);
  if (!a->is_const() && provably_less(graph, b, a) && provably_non_negative(b)) return graph.boolean(false);
  return nullptr;
}

UOpRef decide_equal(Context& context, UOpRef node, const Match&) {
  if (!is_index_pair(node)) return nullptr;
  LinearForm difference;
  if (!difference.add(node->source(0)) || !difference.add(node->source(1), -1)) return nullptr;
  const Interval bounds = difference.bounds();
  const bool never = (bounds.high && *bounds.high < 0) || (bounds.low && *bounds.low > 0);
  const bool always = difference.is_constant() && difference.constant == 0;
  return never || always ? context.graph.boolean(always == node->is(Op::Eq)) : nullptr;
}

// Terms on both sides of a comparison move to where their factor is positive.
UOpRef cancel_terms(Context& context, UOpRef node, const Match&) {
  if (!is_index_pair(node)) return nullptr;
  const std::optional<LinearForm> a = linear_form(node->source(0)), b = linear_form(node->source(1));
  if (!a || !b || a->terms.empty() || b->terms.empty()) return nullptr;
  LinearForm difference = *a, left, right;
  if (!difference.add_form(*b, -1) || difference.terms.size() >= a->terms.size() + b->terms.size()) return nullptr;
  for (const Term& term : difference.terms) {
    if (!(term.factor > 0 ? left.add_atom(term.atom, term.factor) : right.add_atom(term.atom, -term.factor)))
      return nullptr;
  }
  if (!(left.terms.empty() ? left.add_constant(difference.constant) : right.add_constant(difference.constant, -1))) {
    return nullptr;
  }
  return context.graph.make(node->op, node->dtype, {build(context.graph, left), build(context.graph, right)});
}

// f*q + r < c -> q < c/f with 0 <= r < f: f divides c, or there is no r. Likewise c < f*q + r.
UOpRef divide_out(Context& context, UOpRef node, const Match&) {
  if (!is_index_pair(node)) return nullptr;
  const bool const_right = node->source(1)->is_const();
  if (const_right == node->source(0)->is_const()) return nullptr;
  const std::optional<LinearForm> sum = linear_form(node->source(const_right ? 0 : 1));
  std::int64_t c = node->source(const_right ? 1 : 0)->int_value();
  if (!sum || (!const_right && __builtin_add_overflow(c, 1, &c))) return nullptr;  // c < s is not s < c + 1
  if (c > INT64_MAX / 2 || c < INT64_MIN / 2) return nullptr;
  std::int64_t all = 0;
  for (const Term& term : sum->terms) all = std::gcd(all, term.factor);
  for (std::size_t i = 0; i <= sum->terms.size(); ++i) {
    const std::int64_t f = i == 0 ? all : std::gcd(sum->terms[i - 1].factor, c);
    if (f <= 1) continue;
    LinearForm quotient, rest;
    bool valid = quotient.add_constant(floor_div(sum->constant, f)) && rest.add_constant(floor_mod(sum->constant, f));
    for (const Term& term : sum->terms) {
      valid = valid && (term.factor % f == 0 ? quotient.add_atom(term.atom, term.factor / f)
                                             : rest.add_atom(term.atom, term.factor));
    }
    if (!valid || quotient.terms.empty() || !rest.bounds().inside(0, f)) continue;
    const bool no_rest = rest.is_constant() && rest.constant == 0;
    if (c % f != 0 && !no_rest) continue;
    const std::int64_t limit = -floor_div(-c, f);  // least q with f*q >= c
    ir::Graph& graph = context.graph;
    const UOpRef q = build(graph, quotient);
    return const_right ? graph.lt(q, graph.index(limit)) : graph.lt(graph.index(limit - 1), q);
  }
  return nullptr;
}

constexpr Rule kIndexCompareRules[] = {
    rule_fn("decide_less", any_of(any(Op::Lt), any(Op::Le)), decide_less),
    rule_fn("decide_equal", any_of(any(Op::Eq), any(Op::Ne)), decide_equal),
    rule_fn("cancel_terms", any_of(any(Op::Lt), any(Op::Le), any(Op::Eq), any(Op::Ne)), cancel_terms),
    rule_fn("divide_out", any(Op::Lt), divide_out),
};

}  // namespace

std::span<const Rule> index_compare_rules() { return kIndexCompareRules; }

}  // namespace hearth::rules
