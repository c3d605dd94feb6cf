#include "compiler/passes/kernel/kernel_work.h"

#include <algorithm>

#include "compiler/passes/kernel/evaluations.h"
#include "compiler/passes/kernel/gpu_estimate.h"
#include "compiler/passes/kernel/kernel_estimate.h"
#include "compiler/passes/ranged/movement_index.h"
#include "compiler/passes/ranged/stages.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::UOpRef;

// Elements that the stores write, at upper bounds.
double count_stored(UOpRef root) {
  double total = 0;
  for (UOpRef store : root->sources) total += extent({store->sources.begin() + 2, store->sources.end()});
  return total;
}

// Arithmetic at upper bounds.
double count_ops(UOpRef root) {
  double total = 0;
  Dependence depends;
  for (UOpRef x : toposort(root)) {
    const double times = evaluations(enter(depends, x));
    if (x->is(Op::Reduce)) {
      total += times;
      close_reduction(depends, x);
    } else if (ir::is_elementwise(x->op) && !is_index(x->dtype) && !is_bool(x->dtype)) {
      total += times;
    }
  }
  return total;
}

using Values = std::vector<std::pair<UOpRef, UOpRef>>;

// What stands for the variables where costs are counted; nothing for their upper bounds.
Values values_of(ir::Graph& g, UOpRef kernel, std::span<const std::int64_t> by_slot) {
  Values values;
  if (by_slot.empty()) return values;
  for (UOpRef x : toposort(kernel)) {
    if (!x->is(Op::Var)) continue;
    const std::uint32_t slot = x->as<ir::VarInfo>().slot;
    if (slot < by_slot.size()) values.emplace_back(x, g.index(by_slot[slot]));
  }
  return values;
}

UOpRef at_values(ir::Graph& g, UOpRef x, const Values& values) { return values.empty() ? x : substitute(g, x, values); }

// At the upper bounds of variables that have no value.
std::vector<std::int64_t> max_elements(ir::Graph& g, const std::vector<UOpRef>& buffers, const Values& values) {
  std::vector<std::int64_t> elements;
  for (UOpRef buffer : buffers) {
    double count = 1;
    for (UOpRef dim : axes_of(buffer)) count *= static_cast<double>(at_values(g, dim, values)->bounds.max);
    elements.push_back(static_cast<std::int64_t>(std::min(count, 9e18)));
  }
  return elements;
}

}  // namespace

void count_work(const KernelContext& context, UOpRef flat, Kernel& out) {
  const auto& [g, target, tuning, is_invariant] = context;
  out.num_ops = count_ops(flat);
  out.work = std::max(out.num_ops, count_stored(flat));
  out.launch_work = launch_work(g, flat);
  if (!tuning.describe) return;
  const Values values = values_of(g, flat, tuning.var_values);
  out.cost = kernel_cost(at_values(g, flat, values), max_elements(g, out.buffers, values));
  out.cost.least_cycles = out.cost.ops / ops_per_cycle(target);
}

void estimate_cycles(const KernelContext& context, UOpRef kernel, Kernel& out) {
  if (!context.tuning.describe) return;
  const UOpRef at = at_values(context.g, kernel, values_of(context.g, kernel, context.tuning.var_values));
  if (context.target.unit() == target::Unit::Invocation) return estimate_on_gpu(at, context.target, out.cost);
  out.cost.cycles = estimated_cycles(at);
}

}  // namespace hearth::passes
