// Canonical form of index sums and products, with x div c and x mod c recombined where both occur.
#include "compiler/rewrite/fold.h"
#include "compiler/rules/linear_form.h"
#include "compiler/rules/rules.h"

namespace hearth::rules {

using ir::Op;
using ir::UOpRef;
using namespace rewrite;
using namespace rewrite::dsl;

namespace {

bool positive_const(UOpRef node) { return node->is_const() && node->int_value() > 0; }

// a*(y mod c) + a*c*(x div c) with x = y (mod c)  ->  a*x
bool join_div_mod(const LinearForm& form, LinearForm& result) {
  for (const Term& mod : form.terms) {
    if (!mod.atom->is(Op::FloorMod) || !positive_const(mod.atom->source(1))) continue;
    const std::int64_t c = mod.atom->source(1)->int_value();
    for (const Term& div : form.terms) {
      std::int64_t expected;
      if (__builtin_mul_overflow(mod.factor, c, &expected) || div.factor != expected) continue;
      const UOpRef quotient = div.atom;
      if (!quotient->is(Op::FloorDiv) || quotient->source(1) != mod.atom->source(1)) continue;
      LinearForm difference;
      if (!difference.add(quotient->source(0)) || !difference.add(mod.atom->source(0), -1)) continue;
      bool congruent = floor_mod(difference.constant, c) == 0;
      for (const Term& term : difference.terms) congruent &= floor_mod(term.factor, c) == 0;
      if (!congruent) continue;
      result = form;
      return result.add_atom(mod.atom, -mod.factor) && result.add_atom(div.atom, -div.factor) &&
             result.add(quotient->source(0), mod.factor);
    }
  }
  return false;
}

// a*(x mod c) + a*c*((x div c) mod d)  ->  a*(x mod (c*d))
UOpRef join_mod_mod(ir::Graph& graph, const LinearForm& form) {
  for (const Term& mod : form.terms) {
    if (!mod.atom->is(Op::FloorMod) || !positive_const(mod.atom->source(1))) continue;
    const UOpRef c = mod.atom->source(1);
    for (const Term& high : form.terms) {
      std::int64_t expected, size;
      if (!high.atom->is(Op::FloorMod) || !positive_const(high.atom->source(1))) continue;
      const UOpRef quotient = high.atom->source(0);
      if (!quotient->is(Op::FloorDiv) || quotient->source(1) != c || quotient->source(0) != mod.atom->source(0))
        continue;
      if (__builtin_mul_overflow(mod.factor, c->int_value(), &expected) || high.factor != expected) continue;
      if (__builtin_mul_overflow(c->int_value(), high.atom->source(1)->int_value(), &size)) continue;
      LinearForm result = form;
      if (!result.add_atom(mod.atom, -mod.factor) || !result.add_atom(high.atom, -high.factor)) return nullptr;
      const UOpRef joined = graph.floormod(quotient->source(0), graph.index(size));
      return result.add(joined, mod.factor) ? build(graph, result) : nullptr;
    }
  }
  return nullptr;
}

// (x div n)*n + x mod n with a symbolic n > 0  ->  x
bool join_symbolic(const LinearForm& form, LinearForm& result) {
  for (const Term& mod : form.terms) {
    if (!mod.atom->is(Op::FloorMod) || mod.atom->source(1)->is_const()) continue;
    const UOpRef n = mod.atom->source(1);
    if (n->bounds.min <= 0) continue;
    const std::optional<Product> size = product_form(n);
    if (!size || size->constant != 1) continue;
    for (const Term& div : form.terms) {
      if (div.factor != mod.factor) continue;
      std::optional<Product> rest = product_form(div.atom);
      for (UOpRef factor : size->factors) rest = rest ? without(*rest, factor) : std::nullopt;
      if (!rest || rest->constant != 1 || rest->factors.size() != 1) continue;
      const UOpRef quotient = rest->factors[0];
      if (!quotient->is(Op::FloorDiv) || quotient->source(0) != mod.atom->source(0) || quotient->source(1) != n)
        continue;
      result = form;
      return result.add_atom(mod.atom, -mod.factor) && result.add_atom(div.atom, -div.factor) &&
             result.add(quotient->source(0), mod.factor);
    }
  }
  return false;
}

UOpRef canonical_sum(Context& context, UOpRef node, const Match&) {
  ir::Graph& graph = context.graph;
  if (node->is(Op::Mul) && !node->source(0)->is_const() && !node->source(1)->is_const()) {
    const std::optional<Product> product = product_form(node);
    return product ? build(graph, *product) : nullptr;
  }
  const std::optional<LinearForm> form = linear_form(node);
  if (!form) return nullptr;
  if (UOpRef joined = join_mod_mod(graph, *form)) return joined;
  LinearForm joined;
  if (join_div_mod(*form, joined) || join_symbolic(*form, joined)) return build(graph, joined);
  return build(graph, *form);
}

constexpr Rule kIndexSumRules[] = {
    rule_fn("canonical_sum", any_of(any(Op::Add), any(Op::Sub), any(Op::Neg), any(Op::Mul)).dtype(kIndex | kOneLane),
            canonical_sum),
};

}  // namespace

std::span<const Rule> index_sum_rules() { return kIndexSumRules; }

}  // namespace hearth::rules
