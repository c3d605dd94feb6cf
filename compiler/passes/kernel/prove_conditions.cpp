#include "compiler/passes/kernel/prove_conditions.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "compiler/ir/rebuild.h"
#include "compiler/ir/shape.h"
#include "compiler/passes/report.h"
#include "compiler/rules/facts.h"
#include "compiler/rules/inequality.h"
#include "compiler/rules/rules.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::UOpRef;

bool compares_lengths(UOpRef x) {
  return x->is(Op::Lt) && x->source(0)->dtype == ir::DType(ir::Scalar::Index) && !x->is_const();
}

// a < b where the loops decide it, else with b's constant on the left.
UOpRef decided(ir::Graph& g, UOpRef a, UOpRef b) {
  rules::Inequalities known(g);
  if (known.proves_below(a, b)) return g.boolean(true);
  if (known.proves_non_negative(ir::fold_sub(g, a, b))) return g.boolean(false);
  if (b->is(Op::Add) && b->source(1)->is_const())
    return ir::fold_lt(g, ir::fold_add(g, a, g.index(-b->source(1)->int_value())), b->source(0));
  return ir::fold_lt(g, a, b);
}

// where(c, load, 0) of a load that is off unless c holds: it gives zero itself.
bool says_it_twice(ir::Graph& g, UOpRef x) {
  if (!x->is(Op::Where) || !x->source(1)->is(Op::Load) || x->source(1)->sources.size() > 1) return false;
  if (x->source(2) != g.zero_like(x)) return false;
  const auto needed = rules::conjuncts(x->source(0), Op::And);
  const auto given = rules::conjuncts(x->source(1)->source(0)->sources.back(), Op::And);
  return std::ranges::all_of(needed, [&](UOpRef c) { return std::ranges::find(given, c) != given.end(); });
}

}  // namespace

absl::StatusOr<UOpRef> prove_conditions(ir::Graph& g, UOpRef kernel) {
  if (!contains_op(kernel, Op::Var)) return kernel;
  const UOpRef proved = rebuild(g, kernel, [&](UOpRef x, ir::Sources& sources) -> UOpRef {
    return compares_lengths(x) ? decided(g, sources[0], sources[1]) : nullptr;
  });
  if (proved == kernel) return kernel;
  HEARTH_ASSIGN_OR_RETURN(kernel, rules::simplify(g, proved));
  return rebuild(g, kernel,
                 [&](UOpRef x, ir::Sources& sources) -> UOpRef { return says_it_twice(g, x) ? sources[1] : nullptr; });
}

}  // namespace hearth::passes
