#include "tests/unit/bounds/plan_kernels.h"

#include <catch2/catch.hpp>

#include "compiler/compile.h"
#include "compiler/ir/shape.h"
#include "compiler/ir/text.h"
#include "compiler/passes/import/import_expr.h"
#include "compiler/passes/lowered/decompose.h"
#include "compiler/passes/lowered/expand.h"
#include "compiler/passes/lowered/guard_loads.h"
#include "compiler/rules/rules.h"
#include "tests/support/x86_target.h"

namespace hearth::test {
namespace {

ir::UOpRef good(absl::StatusOr<ir::UOpRef> node) {
  INFO(node.status());
  REQUIRE(node.ok());
  return *node;
}

// Kernels are written with other names than the graph, so that the canonical order of operands may differ.
ir::UOpRef with_operands_as_in(ir::Graph& g, ir::UOpRef kernel, ir::UOpRef size) {
  std::vector<std::pair<ir::UOpRef, ir::UOpRef>> map;
  for (ir::UOpRef x : ir::toposort(size)) {
    if (!ir::is_commutative(x->op)) continue;
    for (ir::UOpRef y : ir::toposort(kernel)) {
      if (y->op == x->op && y->source(0) == x->source(1) && y->source(1) == x->source(0)) map.emplace_back(x, y);
    }
  }
  return ir::substitute(g, size, map);
}

}  // namespace

v1::LoweredPlan lowered(const v1::Graph& graph, std::uint32_t vector_bits) {
  v1::CompileOptions options;
  options.set_opt_level(2);
  options.set_dump(true);
  absl::StatusOr<v1::LoweredPlan> plan = compiler::lower(graph, x86_target(vector_bits), options);
  INFO(plan.status());
  REQUIRE(plan.ok());
  return *std::move(plan);
}

std::vector<PlanKernel> plan_kernels(const v1::LoweredPlan& lowered) {
  std::vector<PlanKernel> kernels;
  const v1::Plan& plan = lowered.plan();
  for (const v1::Launch& launch : plan.launches()) {
    PlanKernel kernel;
    kernel.graph = std::make_unique<ir::Graph>();
    ir::Graph& g = *kernel.graph;
    const v1::KernelSpec& spec = lowered.kernels(static_cast<int>(launch.kernel()));
    kernel.symbol = spec.symbol();
    kernel.ast = good(ir::parse(g, spec.ast()));
    // The kernel's variable where it has one for the plan's; else one of its own.
    std::vector<ir::UOpRef> vars;
    for (int v = 0; v < plan.vars_size(); ++v) {
      vars.push_back(g.var("plan" + std::to_string(v), plan.vars(v).min(), plan.vars(v).max(), 1000 + v));
    }
    for (ir::UOpRef node : ir::toposort(kernel.ast)) {
      if (node->is(ir::Op::Var)) vars.at(launch.vars(static_cast<int>(node->as<ir::VarInfo>().slot))) = node;
    }
    for (const std::uint32_t b : launch.buffers()) {
      ir::UOpRef size = g.index(1);
      for (const v1::Expr& dim : plan.buffers(static_cast<int>(b)).shape()) {
        size = ir::fold_mul(g, size, good(passes::import_expr(g, dim, vars)));
      }
      kernel.sizes.push_back(with_operands_as_in(g, kernel.ast, good(rules::simplify(g, size))));
    }
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

ir::UOpRef expanded(PlanKernel& kernel) {
  ir::Graph& g = *kernel.graph;
  ir::UOpRef root = good(passes::expand(g, kernel.ast));
  root = good(passes::decompose(g, root, v1::Target()));
  root = good(rules::simplify(g, root));
  return passes::guard_loads(g, root);
}

}  // namespace hearth::test
