#include "compiler/passes/plan/plan_build.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "compiler/ir/shape.h"
#include "compiler/passes/import/import_expr.h"
#include "compiler/passes/plan/parallel_regions.h"
#include "proto/versions.h"

namespace hearth::passes {
namespace {

v1::PlanBuffer::Kind wire_kind(ir::BufferKind kind) {
  switch (kind) {
    case ir::BufferKind::Input:
      return v1::PlanBuffer::INPUT;
    case ir::BufferKind::Output:
      return v1::PlanBuffer::OUTPUT;
    case ir::BufferKind::Parameter:
      return v1::PlanBuffer::PARAMETER;
    case ir::BufferKind::Constant:
      return v1::PlanBuffer::CONSTANT;
    case ir::BufferKind::Arena:
      return v1::PlanBuffer::ARENA;
    case ir::BufferKind::Persistent:
      return v1::PlanBuffer::PERSISTENT;
  }
  return v1::PlanBuffer::KIND_UNSPECIFIED;
}

std::uint64_t min_units(double work, ir::UOpRef grid, const target::Target& target) {
  const double units = static_cast<double>(std::max<std::int64_t>(1, grid->bounds.max));
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(target.fork_work() / std::max(1.0, work / units)));
}

// The work of a region's launches over the graph's variables; null where it does not depend on them.
ir::UOpRef work_of(ir::Graph& g, const Schedule& schedule, const PlannedRegion& region) {
  ir::UOpRef sum = g.index(0);
  for (std::uint32_t i = region.first_launch; i < region.first_launch + region.num_launches; ++i) {
    const PlannedLaunch& launch = schedule.launches[i];
    const double same = std::min(schedule.kernels[launch.kernel].work, 1e15);
    sum = ir::fold_add(g, sum,
                       launch.launch_work.work ? launch.launch_work.work : g.index(static_cast<std::int64_t>(same)));
  }
  return sum->is_const() ? nullptr : sum;
}

// What no replay changes.
bool is_weight(const Schedule& schedule, std::uint32_t buffer) {
  const PlannedBuffer& b = schedule.buffers[buffer];
  if (b.view) return b.view->kind == v1::LoopView::SLICE && is_weight(schedule, b.view->buffer);
  return b.kind == ir::BufferKind::Parameter || b.kind == ir::BufferKind::Constant ||
         b.kind == ir::BufferKind::Persistent;
}

void add_summed_slots(const Schedule& schedule, v1::Plan& plan) {
  std::vector<std::set<std::uint32_t>> slots(schedule.kernels.size());
  for (const PlannedLaunch& launch : schedule.launches) {
    const std::vector<bool>& summed = schedule.kernels[launch.kernel].summed;
    for (std::uint32_t slot = 0; slot < summed.size() && !launch.once; ++slot) {
      if (summed[slot] && is_weight(schedule, launch.buffers[slot])) slots[launch.kernel].insert(slot);
    }
  }
  for (std::size_t i = 0; i < slots.size(); ++i) {
    for (const std::uint32_t slot : slots[i]) plan.mutable_kernels(static_cast<int>(i))->add_summed_slots(slot);
  }
}

}  // namespace

v1::Expr export_length(ir::UOpRef length) {
  v1::Expr expr = export_expr(length);
  if (length->bounds.min < 0) {
    expr.add_tokens()->set_kind(v1::ExprToken::CONST);
    expr.add_tokens()->set_kind(v1::ExprToken::MAX);
  }
  return expr;
}

v1::LoweredPlan build_plan(ir::Graph& g, const PlanParts& parts, const target::Target& target) {
  const auto& [schedule, memory, imported, graph] = parts;
  const auto fork_work = static_cast<std::int64_t>(target.fork_work());
  v1::LoweredPlan out;
  v1::Plan& plan = *out.mutable_plan();
  const bool has_conditions = std::ranges::any_of(schedule.launches, [](const auto& l) { return !l.run_if.empty(); });
  plan.set_version(has_conditions              ? kConditionalPlanVersion
                   : schedule.in_place.empty() ? kPlanVersion
                                               : kInPlacePlanVersion);
  *plan.mutable_target() = target.record();
  *plan.mutable_vars() = graph.vars();
  for (const PlannedBuffer& b : schedule.buffers) {
    v1::PlanBuffer& buffer = *plan.add_buffers();
    buffer.set_kind(b.view ? v1::PlanBuffer::VIEW : wire_kind(b.kind));
    buffer.set_name(b.name);
    buffer.set_dtype(static_cast<v1::DType>(b.dtype.scalar));
    for (ir::UOpRef dim : b.shape) *buffer.add_shape() = export_length(dim);
    for (ir::UOpRef dim : b.storage) buffer.add_storage(dim->int_value());
    buffer.set_max_bytes(b.max_bytes);
    buffer.set_offset(b.offset);
    buffer.set_data(b.data);
    if (!b.view) continue;
    v1::LoopView& view = *buffer.mutable_view();
    view.set_kind(b.view->kind);
    view.set_loop(b.view->loop);
    view.set_buffer(b.view->buffer);
    view.set_other(b.view->other);
    view.set_reverse(b.view->reverse);
  }
  for (const std::uint32_t output : schedule.in_place)
    plan.mutable_buffers(static_cast<int>(output))->set_in_place(true);
  for (const PlannedKernel& k : schedule.kernels) {
    v1::PlanKernel& kernel = *plan.add_kernels();
    kernel.set_symbol(k.symbol);
    kernel.set_num_ops(static_cast<std::uint64_t>(k.num_ops));
    if (target.unit() == target::Unit::Invocation) {  // whose launches run at the same time where they may
      kernel.set_workgroup_size(k.workgroup > 0 ? k.workgroup : target.workgroup_size());
      kernel.set_unit_is_workgroup(k.workgroup > 0);
      for (std::uint32_t slot = 0; slot < k.accesses.size(); ++slot) {
        if (k.accesses[slot].stored) kernel.add_stored_slots(slot);
      }
    }
    v1::KernelSpec& spec = *out.add_kernels();
    spec.set_symbol(k.symbol);
    spec.set_ast(k.ast);
    out.add_kernel_sources(k.source);
    *out.add_choices() = k.choice;
    v1::KernelCost& cost = *out.add_kernel_costs();
    cost.set_ops(static_cast<std::uint64_t>(k.cost.ops));
    cost.set_bytes_read(static_cast<std::uint64_t>(k.cost.bytes_read));
    cost.set_bytes_written(static_cast<std::uint64_t>(k.cost.bytes_written));
    cost.set_cycles(static_cast<std::uint64_t>(k.cost.cycles));
    cost.set_least_cycles(static_cast<std::uint64_t>(k.cost.least_cycles));
    cost.set_guarded(static_cast<std::uint64_t>(k.cost.guarded));
    cost.set_occupancy_percent(static_cast<std::uint32_t>(std::ceil(100 * k.cost.occupancy)));
    cost.set_shared_bytes(static_cast<std::uint64_t>(k.cost.shared_bytes));
    if (k.blob) {
      *spec.mutable_blob() = *k.blob;
      *kernel.mutable_blob() = *k.blob;
    }
  }
  if (target.unit() == target::Unit::Share) add_summed_slots(schedule, plan);
  for (const PlannedLaunch& l : schedule.launches) {
    v1::Launch& launch = *plan.add_launches();
    launch.set_kernel(l.kernel);
    launch.mutable_buffers()->Add(l.buffers.begin(), l.buffers.end());
    launch.mutable_vars()->Add(l.vars.begin(), l.vars.end());
    *launch.mutable_grid() = export_length(l.grid);
    launch.set_once(l.once);
    for (const PlannedCondition& condition : l.run_if) {
      v1::LaunchCondition& added = *launch.add_run_if();
      added.set_buffer(condition.buffer);
      added.set_value(condition.value);
    }
    launch.set_min_units_per_thread(min_units(schedule.kernels[l.kernel].work, l.grid, target));
    if (ir::UOpRef at = units_worth_a_thread(g, l.launch_work.work, l.grid, fork_work))
      *launch.mutable_min_units_at() = export_expr(at);
    if (l.launch_work.num_ops) *launch.mutable_num_ops() = export_length(l.launch_work.num_ops);
  }
  for (std::uint32_t id = 0; id < schedule.loops.size(); ++id) {
    const auto is_part = [&](const PlannedLaunch& launch) { return launch.loop == id; };
    v1::PlanLoop& loop = *plan.add_loops();
    *loop.mutable_count() = export_expr(schedule.loops[id].count);
    loop.set_max_count(static_cast<std::uint64_t>(schedule.loops[id].count->bounds.max));
    const auto first = std::ranges::find_if(schedule.launches, is_part);
    loop.set_first_launch(static_cast<std::uint32_t>(first - schedule.launches.begin()));
    loop.set_num_launches(static_cast<std::uint32_t>(std::ranges::count_if(schedule.launches, is_part)));
  }
  for (const PlannedRegion& r : schedule.regions) {
    v1::ParallelRegion& region = *plan.add_regions();
    region.set_first_launch(r.first_launch);
    region.set_num_launches(r.num_launches);
    ir::UOpRef grid = schedule.launches[r.first_launch].grid;
    region.set_min_units_per_thread(min_units(r.work, grid, target));
    if (ir::UOpRef at = units_worth_a_thread(g, work_of(g, schedule, r), grid, fork_work))
      *region.mutable_min_units_at() = export_expr(at);
  }
  plan.set_arena_bytes(memory.arena_bytes);
  plan.set_persistent_bytes(memory.persistent_bytes);
  return out;
}

}  // namespace hearth::passes
