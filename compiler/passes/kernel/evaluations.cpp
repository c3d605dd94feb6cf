#include "compiler/passes/kernel/evaluations.h"

#include <algorithm>

namespace hearth::passes {
namespace {

using ir::Op;
using ir::UOpRef;

bool is_quotient(UOpRef x) {
  return x->is(Op::FloorDiv) && x->source(0)->is(Op::Range) && x->source(1)->is_const() &&
         x->source(1)->int_value() > 0;
}

UOpRef range_of(UOpRef x) { return x->is(Op::Range) ? x : x->source(0); }

double trips(UOpRef x) {
  const auto turns = static_cast<double>(std::max<std::int64_t>(range_of(x)->source(0)->bounds.max, 0));
  if (x->is(Op::Range)) return turns;
  return turns == 0 ? 0 : static_cast<double>(x->bounds.max - x->bounds.min + 1);
}

}  // namespace

const std::vector<UOpRef>& enter(Dependence& dependence, UOpRef x) {
  std::vector<UOpRef>& depends = dependence[x];
  if (x->is(Op::Range) || is_quotient(x)) depends.push_back(x);
  if (is_quotient(x)) return depends;
  for (UOpRef source : x->sources) {
    for (UOpRef other : dependence.at(source)) {
      // A range counts once, with the larger number of its values.
      const auto same = std::ranges::find(depends, range_of(other), range_of);
      if (same == depends.end()) {
        depends.push_back(other);
      } else if (trips(other) > trips(*same)) {
        *same = other;
      }
    }
  }
  return depends;
}

void close_reduction(Dependence& dependence, UOpRef reduce) {
  std::erase_if(dependence.at(reduce), [&](UOpRef x) {
    return std::find(reduce->sources.begin() + 1, reduce->sources.end(), range_of(x)) != reduce->sources.end();
  });
}

double evaluations(const std::vector<UOpRef>& depends) {
  double times = 1;
  for (UOpRef x : depends) times *= trips(x);
  return times;
}

}  // namespace hearth::passes
