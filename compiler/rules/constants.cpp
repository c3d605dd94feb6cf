// Constant folding, values known from bounds, and the canonical order of commutative operands.
#include <array>

#include "compiler/rewrite/fold.h"
#include "compiler/rewrite/order.h"
#include "compiler/rules/rules.h"

namespace hearth::rules {

using ir::Op;
using ir::UOpRef;
using namespace rewrite;
using namespace rewrite::dsl;

namespace {

UOpRef fold_constants(Context& context, UOpRef node, const Match&) {
  if (!ir::is_elementwise(node->op) || node->op == Op::Bitcast) return nullptr;
  if (node->is(Op::Where) && as_const(node->source(0)) == nullptr) return nullptr;
  std::array<ir::ConstValue, 3> args;
  for (std::size_t s = 0; s < node->sources.size(); ++s) {
    const ir::ConstValue* value = as_const(node->source(s));
    if (value == nullptr) return nullptr;
    args[s] = *value;
  }
  const ir::DType operand = node->sources.back()->dtype.element();
  const auto value = fold(node->op, node->dtype.element(), operand, std::span(args.data(), node->sources.size()));
  return value ? make_const(context.graph, node->dtype, *value) : nullptr;
}

// An elementwise value whose bounds meet. Ranges and loads stay: they are more than their value.
UOpRef known_from_bounds(Context& context, UOpRef node, const Match&) {
  if (!ir::is_elementwise(node->op)) return nullptr;
  const ir::Bounds b = node->bounds;
  if (b.min != b.max || b.min == INT64_MAX || b.min == INT64_MIN) return nullptr;
  return context.graph.constant(node->dtype, b.min);
}

UOpRef order_operands(Context& context, UOpRef node, const Match&) {
  if (!ir::is_commutative(node->op)) return nullptr;
  // Index sums and products have their own canonical form.
  if (ir::is_index(node->dtype) && node->dtype.lanes == 1 && (node->is(Op::Add) || node->is(Op::Mul))) return nullptr;
  if (compare_nodes(node->source(1), node->source(0)) >= 0) return nullptr;
  return context.graph.make(node->op, node->dtype, {node->source(1), node->source(0)}, node->payload);
}

constexpr Rule kConstantsRules[] = {
    rule_fn("fold_constants", any(), fold_constants),
    rule_fn("known_from_bounds", any().dtype(kInts | kBool), known_from_bounds),
    rule_fn("order_operands", any(), order_operands),
};

}  // namespace

std::span<const Rule> constant_rules() { return kConstantsRules; }

}  // namespace hearth::rules
