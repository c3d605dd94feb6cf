// Vectors: lanes taken out of what was just put together, and operations on broadcasts done once.
#include <array>

#include "compiler/rules/rules.h"

namespace hearth::rules {

using ir::Op;
using ir::UOpRef;
using namespace rewrite;

namespace {

UOpRef extract_lane(Context&, UOpRef node, const Match&) {
  const UOpRef vector = node->source(0);
  if (vector->is(Op::Broadcast)) return vector->source(0);
  if (!vector->is(Op::Stack)) return nullptr;
  return vector->source(node->as<ir::LaneInfo>().lane);
}

UOpRef stack_same(Context& context, UOpRef node, const Match&) {
  for (UOpRef source : node->sources) {
    if (source != node->source(0)) return nullptr;
  }
  return node->dtype.lanes == 1 ? node->source(0) : context.graph.make(Op::Broadcast, node->dtype, {node->source(0)});
}

// Every lane of one vector, in order, is that vector.
UOpRef stack_of_extracts(Context&, UOpRef node, const Match&) {
  UOpRef vector = nullptr;
  for (std::size_t lane = 0; lane < node->sources.size(); ++lane) {
    const UOpRef source = node->source(lane);
    if (!source->is(Op::Extract) || source->as<ir::LaneInfo>().lane != lane) return nullptr;
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

constexpr Rule kRules[] = {
    rule_fn("extract_lane", dsl::any(Op::Extract), extract_lane),
    rule_fn("stack_same", dsl::any(Op::Stack), stack_same),
    rule_fn("stack_of_extracts", dsl::any(Op::Stack), stack_of_extracts),
    rule_fn("broadcast_outwards", dsl::x, broadcast_outwards),
};

}  // namespace

std::span<const Rule> vector_rules() { return kRules; }

}  // namespace hearth::rules
