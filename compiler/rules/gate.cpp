// Conditions at work: indices under their gate, branches under their condition, what a conjunction says twice, and a
// choice that a load's gate makes already. A load whose gate is false touches no memory and gives zero.
#include <algorithm>

#include "compiler/rules/facts.h"
#include "compiler/rules/rules.h"

namespace hearth::rules {

using ir::Op;
using ir::UOpRef;
using namespace rewrite;
using namespace rewrite::dsl;

namespace {

const ir::DType kBoolType(ir::Scalar::Bool), kIndexType(ir::Scalar::Index);

// Positions of a gated access, each simplified for where the gate holds.
UOpRef index_under_gate(Context& context, UOpRef node, const Match&) {
  const UOpRef gate = node->sources.back();
  if (gate->dtype != kBoolType || gate->is_const()) return nullptr;
  std::vector<UOpRef> sources(node->sources.begin(), node->sources.end()), parts;
  bool changed = false;
  for (std::size_t s = 1; s + 1 < sources.size(); ++s) {
    if (sources[s]->dtype != kIndexType || !ir::is_elementwise(sources[s]->op)) continue;
    if (parts.empty()) parts = conjuncts(gate);
    if (UOpRef simple = simplify_under(context, sources[s], parts, true)) {
      sources[s] = simple;
      changed = true;
    }
  }
  return changed ? context.graph.with_sources(node, sources) : nullptr;
}

// Each branch of where, simplified for where it is chosen.
UOpRef where_under_condition(Context& context, UOpRef node, const Match&) {
  const UOpRef condition = node->source(0);
  if (condition->dtype != kBoolType || condition->is_const()) return nullptr;
  const UOpRef yes = simplify_under(context, node->source(1), conjuncts(condition), true);
  const UOpRef no = simplify_under(context, node->source(2), conjuncts(condition, Op::Or), false);
  if (yes == nullptr && no == nullptr) return nullptr;
  return context.graph.where(condition, yes ? yes : node->source(1), no ? no : node->source(2));
}

// A part of a conjunction that the others imply goes; one that they exclude makes it false.
UOpRef implied_condition(Context& context, UOpRef node, const Match&) {
  if (node->dtype != kBoolType) return nullptr;
  std::vector<UOpRef> parts = conjuncts(node), others;
  const std::size_t count = parts.size();
  for (std::size_t i = 0; i < parts.size();) {
    const Facts own = facts_of(std::span(&parts[i], 1));
    others = parts;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const Facts facts = facts_of(others);
    bool implied = !own.empty();
    for (const Fact& fact : own) {
      LinearForm minus;
      if (!minus.add_form(fact.form, -1)) return nullptr;
      const auto high = upper_limit(fact.form, facts), negative_low = upper_limit(minus, facts);
      if (negative_low && -*negative_low > fact.limit) return context.graph.boolean(false);
      implied &= high && *high <= fact.limit;
    }
    if (implied) {
      parts = others;
    } else {
      ++i;
    }
  }
  if (parts.size() == count) return nullptr;
  UOpRef result = nullptr;
  for (UOpRef part : parts) result = result == nullptr ? part : context.graph.logical_and(result, part);
  return result == nullptr ? context.graph.boolean(true) : result;
}

bool contains_all_conjuncts(UOpRef gate, UOpRef condition) {
  const std::vector<UOpRef> said = conjuncts(gate), needed = conjuncts(condition);
  return std::ranges::all_of(needed, [&](UOpRef part) { return std::ranges::find(said, part) != said.end(); });
}

// where(g, load gated by g and more, what the load gives otherwise) -> the load
UOpRef where_of_gated_load(Context&, UOpRef node, const Match& match) {
  const UOpRef load = node->source(1);
  return !match[p]->is_const() && contains_all_conjuncts(load->source(0)->sources.back(), match[p]) ? load : nullptr;
}

// A store gated by g of where(g, x, y) stores x.
UOpRef store_under_gate(Context& context, UOpRef node, const Match& match) {
  if (match[p]->is_const() || !contains_all_conjuncts(node->source(0)->sources.back(), match[p])) return nullptr;
  std::vector<UOpRef> sources(node->sources.begin(), node->sources.end());
  sources[1] = match[x];
  return context.graph.with_sources(node, sources);
}

constexpr Pattern load(const Pattern& index) { return Pattern::operation(Op::Load, index); }
constexpr Pattern load(const Pattern& index, const Pattern& otherwise) {
  return Pattern::operation(Op::Load, index, otherwise);
}
constexpr Pattern kAccess = any(Op::Index), kChosen = where(p, x, y);

constexpr Rule kGateRules[] = {
    rule_fn("implied_condition", any(Op::And), implied_condition),
    rule_fn("where_of_gated_load", any_of(where(p, load(kAccess), 0), where(p, load(kAccess, y), y)),
            where_of_gated_load),
    rule_fn("where_under_condition", any(Op::Where), where_under_condition),
    rule_fn("index_under_gate", kAccess, index_under_gate),
    rule_fn("store_under_gate", fork(Op::Store, sources(kAccess, kChosen), sources(kAccess, kChosen, repeat(any()))),
            store_under_gate),
};

}  // namespace

std::span<const Rule> gate_rules() { return kGateRules; }

}  // namespace hearth::rules
