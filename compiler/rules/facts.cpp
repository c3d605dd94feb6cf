#include "compiler/rules/facts.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "compiler/rewrite/driver.h"
#include "compiler/rules/rules.h"

namespace hearth::rules {

using ir::Op;
using ir::UOpRef;

namespace {

constexpr std::size_t kMaxRegion = 400;  // nodes; larger expressions are left as they are
constexpr std::int64_t kMin = INT64_MIN, kMax = INT64_MAX;
const ir::DType kIndexType(ir::Scalar::Index);

using Map = absl::flat_hash_map<UOpRef, UOpRef>;  // only looked up, never walked

// Everything but the rules that simplify under conditions: those would call themselves.
const rewrite::RuleSet& plain_rules() {
  static const rewrite::RuleSet& rules = *new rewrite::RuleSet(expression_families());
  return rules;
}

// Nodes of `root` reached through elementwise operations alone, sources first; empty when there are too many.
std::vector<UOpRef> region_of(UOpRef root) {
  std::vector<UOpRef> order, stack = {root};
  absl::flat_hash_set<UOpRef> entered, done;
  while (!stack.empty()) {
    const UOpRef node = stack.back();
    if (done.contains(node)) {
      stack.pop_back();
    } else if (!entered.insert(node).second || !ir::is_elementwise(node->op)) {
      stack.pop_back();
      done.insert(node);
      order.push_back(node);
      if (order.size() > kMaxRegion) return {};
    } else {
      stack.insert(stack.end(), node->sources.rbegin(), node->sources.rend());
    }
  }
  return order;
}

bool is_costly(UOpRef node) {
  switch (node->op) {
    case Op::FloorDiv:
    case Op::FloorMod:
    case Op::TruncDiv:
    case Op::TruncMod:
    case Op::Max:
    case Op::Min:
    case Op::Where:
    case Op::And:
    case Op::Or:
    case Op::Not:
      return true;
    default:
      return ir::op_class(node->op) == ir::OpClass::Compare;
  }
}

// Costly operations, then all nodes: what is replaced must have less of it, so that this ends.
std::pair<std::ptrdiff_t, std::size_t> cost_of(const std::vector<UOpRef>& region) {
  return {std::ranges::count_if(region, is_costly), region.size()};
}

UOpRef replace(ir::Graph& graph, const std::vector<UOpRef>& region, Map map) {
  std::vector<UOpRef> sources;
  for (UOpRef node : region) {
    if (map.contains(node)) continue;
    if (!ir::is_elementwise(node->op)) {  // a range stays, whatever its size is made of
      map[node] = node;
      continue;
    }
    sources.clear();
    bool changed = false;
    for (UOpRef source : node->sources) {
      auto found = map.find(source);
      sources.push_back(found == map.end() ? source : found->second);
      changed |= sources.back() != source;
    }
    const UOpRef result = changed ? graph.with_sources(node, sources) : node;
    map[node] = result;
  }
  return map.at(region.back());
}

// A form with the limits that the facts give it, in either direction.
struct Box {
  LinearForm form;
  std::int64_t low = kMin, high = kMax;
};

LinearForm negated(const LinearForm& form) {
  LinearForm result;
  return result.add_form(form, -1) ? result : LinearForm();
}

bool same_terms(const LinearForm& a, const LinearForm& b) {
  return std::ranges::equal(a.terms, b.terms,
                            [](const Term& s, const Term& t) { return s.atom == t.atom && s.factor == t.factor; });
}

std::vector<Box> boxes_of(const Facts& facts) {
  std::vector<Box> boxes;
  for (const Fact& fact : facts) {
    if (fact.form.terms.empty()) continue;
    const LinearForm minus = negated(fact.form);
    auto box = std::ranges::find_if(
        boxes, [&](const Box& b) { return same_terms(b.form, fact.form) || same_terms(b.form, minus); });
    const bool lower = box == boxes.end() ? fact.form.terms[0].factor < 0 : !same_terms(box->form, fact.form);
    if (box == boxes.end()) box = boxes.insert(box, Box{lower ? minus : fact.form});
    if (lower) {
      box->low = std::max(box->low, fact.limit == kMin ? kMin : -fact.limit);
    } else {
      box->high = std::min(box->high, fact.limit);
    }
  }
  return boxes;
}

// What the atoms' own bounds add; false when the facts say no more than those, or nothing is left in between.
bool tighten(Box& box) {
  const Interval own = box.form.bounds();
  const bool told = (box.low != kMin && !(own.low && *own.low >= box.low)) ||
                    (box.high != kMax && !(own.high && *own.high <= box.high));
  if (own.low && *own.low > box.low && *own.low < kMax) box.low = static_cast<std::int64_t>(*own.low);
  if (own.high && *own.high < box.high && *own.high > kMin) box.high = static_cast<std::int64_t>(*own.high);
  return told && box.low <= box.high;
}

// Replaces an atom of the boxed form so that the form becomes a variable with these bounds, counted from the lower one
// (then 4*q + form - low divides by 4); false without such an atom.
bool replace_pivot(ir::Graph& graph, const Box& box, std::uint32_t number, Map& forward, Map& back,
                   const absl::flat_hash_set<UOpRef>& present) {
  for (const Term& pivot : box.form.terms) {
    if ((pivot.factor != 1 && pivot.factor != -1) || forward.contains(pivot.atom) || !present.contains(pivot.atom))
      continue;
    std::int64_t width = 0;
    const bool shifts = box.low != kMin && box.high != kMax && !__builtin_sub_overflow(box.high, box.low, &width);
    const UOpRef variable =
        graph.var("fact" + std::to_string(number), shifts ? 0 : box.low, shifts ? width : box.high, ~number);
    LinearForm solved, original = box.form;  // pivot = (variable + low - the other terms) / factor
    if (!solved.add_atom(variable, pivot.factor)) return false;
    if (shifts && !(solved.add_constant(box.low, pivot.factor) && original.add_constant(box.low, -1))) return false;
    for (const Term& term : box.form.terms) {
      if (term.atom != pivot.atom && !solved.add_atom(term.atom, -term.factor * pivot.factor)) return false;
    }
    forward[pivot.atom] = build(graph, solved);
    back[variable] = build(graph, original);
    return true;
  }
  return false;
}

UOpRef simplified(ir::Graph& graph, UOpRef node) {
  const auto simple = rewrite::rewrite(graph, node, plain_rules(), {.max_rewrites = 50'000});
  return simple.ok() ? *simple : nullptr;
}

// a - b <= limit
void add_fact(Facts& facts, UOpRef a, UOpRef b, std::int64_t limit) {
  Fact fact;
  if (!fact.form.add(a) || !fact.form.add(b, -1)) return;
  if (__builtin_sub_overflow(limit, fact.form.constant, &fact.limit)) return;
  fact.form.constant = 0;
  facts.push_back(fact);
}

}  // namespace

std::vector<UOpRef> conjuncts(UOpRef condition, Op op) {
  std::vector<UOpRef> parts, stack = {condition};
  while (!stack.empty()) {
    const UOpRef node = stack.back();
    stack.pop_back();
    if (node->is(op) && ir::is_bool(node->dtype)) {
      stack.push_back(node->source(1));
      stack.push_back(node->source(0));
    } else if (std::ranges::find(parts, node) == parts.end()) {
      parts.push_back(node);
    }
  }
  return parts;
}

Facts facts_of(std::span<const UOpRef> comparisons, bool holds) {
  Facts facts;
  for (UOpRef node : comparisons) {
    if (ir::op_class(node->op) != ir::OpClass::Compare || node->source(0)->dtype != kIndexType) continue;
    const UOpRef a = node->source(0), b = node->source(1);
    if (node->is(Op::Lt) || node->is(Op::Le)) {
      const bool strict = node->is(Op::Lt);
      holds ? add_fact(facts, a, b, strict ? -1 : 0) : add_fact(facts, b, a, strict ? 0 : -1);
    } else if (node->is(Op::Eq) == holds) {
      add_fact(facts, a, b, 0);
      add_fact(facts, b, a, 0);
    }
  }
  return facts;
}

std::optional<__int128> upper_limit(const LinearForm& form, const Facts& facts) {
  std::optional<__int128> best = form.bounds().high;
  for (const Fact& fact : facts) {
    if (fact.form.terms.empty()) continue;
    const Term& first = fact.form.terms[0];
    for (const Term& term : form.terms) {
      if (term.atom != first.atom || term.factor % first.factor != 0 || term.factor / first.factor <= 0) continue;
      const std::int64_t times = term.factor / first.factor;
      LinearForm rest = form;
      if (!rest.add_form(fact.form, -times)) continue;
      const std::optional<__int128> high = rest.bounds().high;
      if (!high) continue;
      const __int128 limit = *high + static_cast<__int128>(times) * fact.limit;
      if (!best || limit < *best) best = limit;
    }
  }
  return best;
}

UOpRef simplify_under(rewrite::Context& context, UOpRef value, std::span<const UOpRef> conditions, bool holds) {
  if (!ir::is_elementwise(value->op)) return nullptr;
  const std::vector<UOpRef> region = region_of(value);
  const auto cost = cost_of(region);
  if (cost.first == 0) return nullptr;
  ir::Graph& graph = context.graph;
  const absl::flat_hash_set<UOpRef> present(region.begin(), region.end());
  Map forward, back;
  for (UOpRef condition : conditions) {
    if (present.contains(condition) && !condition->is_const()) forward[condition] = graph.boolean(holds);
  }
  std::uint32_t number = 0;
  for (Box& box : boxes_of(facts_of(conditions, holds))) {
    if (tighten(box) && replace_pivot(graph, box, number, forward, back, present)) ++number;
  }
  if (forward.empty()) return nullptr;
  const UOpRef inside = simplified(graph, replace(graph, region, forward));
  if (inside == nullptr) return nullptr;
  const std::vector<UOpRef> rest = region_of(inside);
  if (rest.empty()) return nullptr;
  const UOpRef result = simplified(graph, replace(graph, rest, back));
  if (result == nullptr) return nullptr;
  const std::vector<UOpRef> after = region_of(result);
  return !after.empty() && cost_of(after) < cost ? result : nullptr;
}

}  // namespace hearth::rules
