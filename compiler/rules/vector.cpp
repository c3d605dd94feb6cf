// Vectors: lanes taken out of what was just put together, and operations on broadcasts done once.
#include <array>

#include "compiler/rules/rules.h"

namespace hearth::rules {

using ir::Op;
using ir::UOpRef;
using namespace rewrite;
using namespace rewrite::dsl;

namespace {

UOpRef extract_lane(Context&, UOpRef node, const Match&) {
  return node->source(0)->source(node->as<ir::LaneInfo>().lane);
}

// Every lane of one vector, in order, is that vector.
UOpRef stack_of_extracts(Context&, UOpRef node, const Match&) {
  UOpRef vector = nullptr;
  for (std::size_t lane = 0; lane < node->sources.size(); ++lane) {
    const UOpRef source = node->source(lane);
    if (source->as<ir::LaneInfo>().lane != lane) return nullptr;
    if (vector != nullptr && source->source(0) != vector) return nullptr;
    vector = source->source(0);
  }
  return vector != nullptr && vector->dtype == node->dtype ? vector : nullptr;
}

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
    rule_fn("extract_lane", extract(any(Op::Stack)), extract_lane),
    rule("stack_of_one", kAll, stack(x), x),
    rule("stack_same", kAll, stack(repeat(x)), broadcast(x)),
    rule_fn("stack_of_extracts", stack(repeat(any(Op::Extract))), stack_of_extracts),
    rule_fn("broadcast_outwards", any(), broadcast_outwards),
};

}  // namespace

std::span<const Rule> vector_rules() { return kVectorRules; }

}  // namespace hearth::rules
