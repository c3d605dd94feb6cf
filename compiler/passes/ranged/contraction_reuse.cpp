#include "compiler/passes/ranged/contraction_reuse.h"

#include <algorithm>

#include "compiler/passes/ranged/stages.h"
#include "compiler/target/core_model.h"

namespace hearth::passes {
namespace {

using target::kCore;

using ir::Op;
using ir::UOpRef;

constexpr double kMinReuse = 4;  // products an element that is read

bool is_contraction_with_reuse(UOpRef reduce) {
  if (reduce->as<ir::ReduceInfo>().kind != ir::ReduceKind::Sum) return false;
  double products = extent(free_ranges({reduce})), elements = 0;
  int num_loads = 0;
  bool multiplies = false;
  const UOpRef inner[] = {reduce->source(0)};
  for (UOpRef x : nodes_below(inner)) {
    multiplies |= x->is(Op::Mul);
    if (!x->is(Op::Load)) continue;
    ++num_loads;
    const UOpRef index = x->source(0);
    elements += extent(free_ranges({index->sources.begin() + 1, index->sources.end() - 1}));
  }
  return multiplies && num_loads >= 2 && products >= kCore.products_worth_a_launch && products >= kMinReuse * elements;
}

bool reads(UOpRef value) {
  const UOpRef roots[] = {value};
  return std::ranges::any_of(nodes_below(roots), [](UOpRef x) { return x->is(Op::Load); });
}

bool is_sum_of_products(UOpRef reduce) {
  if (reduce->as<ir::ReduceInfo>().kind != ir::ReduceKind::Sum) return false;
  UOpRef value = reduce->source(0);
  while (value->is(Op::Cast)) value = value->source(0);
  return value->is(Op::Mul) && reads(value->source(0)) && reads(value->source(1));
}

}  // namespace

bool has_sum_of_products(const std::vector<UOpRef>& nodes) {
  return std::ranges::any_of(nodes, [](UOpRef x) { return x->is(Op::Reduce) && is_sum_of_products(x); });
}

bool has_contraction_with_reuse(const std::vector<UOpRef>& nodes) {
  return std::ranges::any_of(nodes, [](UOpRef x) { return x->is(Op::Reduce) && is_contraction_with_reuse(x); });
}

}  // namespace hearth::passes
