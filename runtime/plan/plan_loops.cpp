#include "runtime/plan/plan_loops.h"

#include "base/status_macros.h"
#include "base/text.h"
#include "runtime/plan/invalid_plan.h"

namespace hearth::runtime {
namespace {

// At the variables' upper bounds; check_buffers has bounded it.
std::size_t shape_bytes(const PlanBuffer& buffer) {
  std::size_t bytes = dtype_bytes(buffer.dtype);
  for (const Expr& length : buffer.shape) bytes *= static_cast<std::size_t>(length.max());
  return bytes;
}

absl::Status check_view(const Plan& plan, const PlanBuffer& buffer, const std::string& place) {
  const PlanView& view = *buffer.view;
  if (view.loop >= plan.loops.size()) {
    return invalid_plan(place, ": loop ", view.loop, " does not exist; the plan has ", plan.loops.size());
  }
  const std::size_t needed = shape_bytes(buffer);
  const auto check_memory = [&](std::uint32_t of, std::size_t bytes) -> absl::Status {
    if (of >= plan.buffers.size()) {
      return invalid_plan(place, ": buffer ", of, " does not exist; the plan has ", plan.buffers.size());
    }
    if (plan.buffers[of].view) return invalid_plan(place, ": buffer ", of, " is a view itself");
    if (plan.buffers[of].max_bytes >= bytes) return absl::OkStatus();
    return invalid_plan(place, ": buffer ", of, " has ", plan.buffers[of].max_bytes, " bytes; ", bytes, " are seen");
  };
  switch (view.kind) {
    case v1::LoopView::SLICE: {
      const auto count = static_cast<std::size_t>(plan.loops[view.loop].count.max());
      if (needed > 0 && count > SIZE_MAX / needed) return invalid_plan(place, ": the slices are larger than memory");
      return check_memory(view.buffer, count * needed);
    }
    case v1::LoopView::CARRIED:
      if (view.buffer == view.other) return invalid_plan(place, ": both halves are buffer ", view.buffer);
      HEARTH_RETURN_IF_ERROR(check_memory(view.other, needed));
      return check_memory(view.buffer, needed);
    case v1::LoopView::PREVIOUS: {
      const bool exists = view.other < plan.buffers.size() && plan.buffers[view.other].view;
      if (!exists || plan.buffers[view.other].view->kind == v1::LoopView::PREVIOUS ||
          plan.buffers[view.other].view->loop != view.loop || shape_bytes(plan.buffers[view.other]) != needed) {
        return invalid_plan(place, ": buffer ", view.other, " is no slice or carried value of its size in loop ",
                            view.loop);
      }
      return check_memory(view.buffer, needed);
    }
    default:
      return invalid_plan(place, ": view of kind ", static_cast<int>(view.kind), " is unknown to this version");
  }
}

}  // namespace

absl::Status check_loops(const v1::Plan& wire, Plan& plan) {
  std::uint64_t end = 0;
  for (int i = 0; i < wire.loops_size(); ++i) {
    const v1::PlanLoop& from = wire.loops(i);
    const std::string place = str_cat("loop ", i);
    const std::uint64_t first = from.first_launch();
    if (first < end || from.num_launches() == 0 ||
        first + from.num_launches() > static_cast<std::uint64_t>(wire.launches_size())) {
      return invalid_plan(place, ": launches [", first, ", +", from.num_launches(),
                          ") do not lie behind those of the loop ", "before and within the plan's ",
                          wire.launches_size());
    }
    end = first + from.num_launches();
    for (std::uint64_t launch = first; launch < end; ++launch) {
      if (wire.launches(static_cast<int>(launch)).once())
        return invalid_plan(place, ": launch ", launch, " is a once launch, which no loop has");
    }
    absl::StatusOr<Expr> count = Expr::compile(from.count(), plan.vars);
    if (!count.ok()) return invalid_plan(place, ": count: ", std::string(count.status().message()));
    if (count->min() < 1) return invalid_plan(place, ": the count may be less than 1");
    plan.loops.push_back({from.first_launch(), from.num_launches(), *std::move(count)});
  }
  for (std::uint32_t i = 0; i < plan.buffers.size(); ++i) {
    if (!plan.buffers[i].view) continue;
    HEARTH_RETURN_IF_ERROR(check_view(plan, plan.buffers[i], str_cat("buffer ", i)));
  }
  return absl::OkStatus();
}

std::vector<std::uint32_t> memory_of(const Plan& plan, std::uint32_t buffer) {
  const std::optional<PlanView>& view = plan.buffers[buffer].view;
  if (!view) return {buffer};
  std::vector<std::uint32_t> memory = {view->buffer};
  if (view->kind == v1::LoopView::CARRIED) memory.push_back(view->other);
  if (view->kind == v1::LoopView::PREVIOUS) {
    const std::vector<std::uint32_t> others = memory_of(plan, view->other);
    memory.insert(memory.end(), others.begin(), others.end());
  }
  return memory;
}

}  // namespace hearth::runtime
