// Vectors: lanes taken out of what was just put together, and operations on broadcasts done once.
#include <array>

#include "compiler/rules/rules.h"

namespace hearth::rules {

using ir::Op;
using ir::UOpRef;
using namespace rewrite;
using namespace rewrite::dsl;

namespace {

UOpRef broadcast_outwards(Context& context, UOpRef node, const Match&) {
  if (!ir::is_elementwise(node->op) || node->op == Op::Bitcast || node->dtype.lanes == 1) return nullptr;
  std::array<UOpRef, 3> sources{};
  for (std::size_t s = 0; s < node->sources.size(); ++s) {
    if (!node->source(s)->is(Op::Broadcast)) return nullptr;
    sources[s] = node->source(s)->source(0);
  }
  const UOpRef scalar = context.graph.make(
      node->op, node->dtype.element(), std::span<const UOpRef>(sources.data(), node->sources.size()), node->payload);
  return context.graph.make(Op::Broadcast, node->dtype, {scalar});
}

constexpr Rule kVectorRules[] = {
    rule("extract_of_broadcast", kAll, extract(broadcast(x)), x),
    rule("extract_lane", kAll, extract(stacked(x)), x),
    rule("stack_of_one", kAll, stack(x), x),
    rule("stack_same", kAll, stack(repeat(x)), broadcast(x)),
    rule("stack_of_lanes", kAll, stack(lanes_of(x)), x),
    rule_fn("broadcast_outwards", any(), broadcast_outwards),
};

}  // namespace

std::span<const Rule> vector_rules() { return kVectorRules; }

}  // namespace hearth::rules
