#include "runtime/hal/rows.h"

#include <algorithm>
#include <limits>

#include "base/status_macros.h"
#include "base/text.h"

namespace hearth::runtime {

Rows::Rows(const Plan& of) : plan(&of), memory(of.buffers.size(), nullptr) {
  for (std::uint32_t i = 0; i < of.launches.size(); ++i) {
    if (!of.launches[i].once) add_step(i);
  }
  add_forks();
  add_loops();
  addresses.resize(step_buffers.size());
  values.resize(step_vars.size());
}

Rows::Rows(const Plan& of, std::uint32_t launch) : plan(&of), memory(of.buffers.size(), nullptr) {
  add_step(launch);
  forks.push_back({0, 1, of.launches[launch].fork.min_units, &of.launches[launch].fork});
  addresses.resize(step_buffers.size());
  values.resize(step_vars.size());
}

void Rows::add_step(std::uint32_t launch) {
  const PlanLaunch& from = plan->launches[launch];
  Step& step = steps.emplace_back();
  step.launch = launch;
  step.kernel = from.kernel;
  step.num_ops = plan->kernels[from.kernel].num_ops;
  step.first_address = static_cast<std::uint32_t>(step_buffers.size());
  step.first_value = static_cast<std::uint32_t>(step_vars.size());
  step_buffers.insert(step_buffers.end(), from.buffers.begin(), from.buffers.end());
  step_vars.insert(step_vars.end(), from.vars.begin(), from.vars.end());
}

void Rows::add_forks() {
  auto region = plan->regions.begin();
  for (std::uint32_t i = 0; i < steps.size();) {
    const ForkLimit* limit = &plan->launches[steps[i].launch].fork;
    std::uint32_t end = i + 1;
    while (region != plan->regions.end() && region->first_launch < steps[i].launch) ++region;
    if (region != plan->regions.end() && region->first_launch == steps[i].launch)
      limit = &region->fork, end = i + region->num_launches;  // none of them is a once launch
    forks.push_back({i, end, limit->min_units, limit, !plan->launches[steps[i].launch].run_if.empty()});
    i = end;
  }
}

void Rows::add_loops() {
  const auto forks_before = [&](std::uint32_t launch) {  // forks are in the order of their launches
    const auto launch_of = [this](const Fork& fork) { return steps[fork.first_step].launch; };
    return static_cast<std::uint32_t>(std::ranges::lower_bound(forks, launch, {}, launch_of) - forks.begin());
  };
  for (const PlanLoop& from : plan->loops) {
    Loop& loop = loops.emplace_back();
    loop.first_fork = forks_before(from.first_launch);
    loop.end_fork = forks_before(from.first_launch + from.num_launches);
  }
  if (loops.empty()) return;
  std::vector<std::vector<std::uint32_t>> uses(plan->buffers.size());  // of views, in `addresses`
  for (std::uint32_t a = 0; a < step_buffers.size(); ++a) {
    if (plan->buffers[step_buffers[a]].view) uses[step_buffers[a]].push_back(a);
  }
  for (std::uint32_t i = 0; i < plan->buffers.size(); ++i) {
    const std::optional<PlanView>& view = plan->buffers[i].view;
    if (view && !uses[i].empty()) loops[view->loop].views.push_back({i, 0, std::move(uses[i])});
  }
}

absl::Status Rows::set_values(const std::vector<std::int64_t>& now) {
  for (std::size_t i = 0; i < loops.size(); ++i) {
    Loop& loop = loops[i];
    loop.count = plan->loops[i].count.evaluate(now.data());
    for (View& view : loop.views) {
      const PlanView& of = *plan->buffers[view.buffer].view;
      view.stride = plan->buffers[view.buffer].size_bytes(now.data());
      HEARTH_RETURN_IF_ERROR(check_seen(view.buffer, of, view.stride, loop.count, now));
    }
  }
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = now[step_vars[i]];
  for (Step& step : steps) {
    const PlanLaunch& launch = plan->launches[step.launch];
    step.grid = launch.grid.evaluate(now.data());
    step.min_units_per_thread = launch.fork.evaluate(now.data());
    if (launch.num_ops) step.num_ops = static_cast<std::uint64_t>(launch.num_ops->evaluate(now.data()));
  }
  for (Fork& fork : forks) fork.min_units_per_thread = fork.limit->evaluate(now.data());
  return absl::OkStatus();
}

bool Rows::runs(const Fork& fork) const {
  return std::ranges::all_of(plan->launches[steps[fork.first_step].launch].run_if, [this](const PlanCondition& of) {
    return (*static_cast<const std::uint8_t*>(memory[of.buffer]) != 0) == of.value;
  });
}

void Rows::place() {
  for (std::size_t i = 0; i < addresses.size(); ++i) addresses[i] = memory[step_buffers[i]];
}

// Whether a step sees `size` bytes in whatever the view looks at, for the variables' values.
absl::Status Rows::check_seen(std::uint32_t view, const PlanView& of, std::size_t size, std::int64_t count,
                              const std::vector<std::int64_t>& now) const {
  const auto has = [&](std::uint32_t buffer, std::size_t needed) -> absl::Status {
    const std::size_t there = plan->buffers[buffer].size_bytes(now.data());
    if (there >= needed) return absl::OkStatus();
    return absl::FailedPreconditionError(str_cat("plan: buffer ", view, ": a loop of ", count, " steps sees ", needed,
                                                 " bytes of buffer ", buffer, ", which has ", there,
                                                 " for the variables' values"));
  };
  if (of.kind == v1::LoopView::SLICE) {
    std::size_t all = 0;
    const bool fits = !__builtin_mul_overflow(size, static_cast<std::size_t>(count), &all);
    return has(of.buffer, fits ? all : std::numeric_limits<std::size_t>::max());
  }
  HEARTH_RETURN_IF_ERROR(has(of.buffer, size));
  return of.kind == v1::LoopView::CARRIED ? has(of.other, size)
                                          : check_seen(view, *plan->buffers[of.other].view, size, count, now);
}

void* Rows::address_at(const PlanView& view, std::size_t stride, std::int64_t step, std::int64_t count) const {
  switch (view.kind) {
    case v1::LoopView::SLICE: {
      const std::int64_t at = view.reverse ? count - 1 - step : step;
      return static_cast<char*>(memory[view.buffer]) + static_cast<std::size_t>(at) * stride;
    }
    case v1::LoopView::CARRIED:
      return memory[(count - 1 - step) % 2 == 0 ? view.buffer : view.other];
    default:  // PREVIOUS
      return step == 0 ? memory[view.buffer] : address_at(*plan->buffers[view.other].view, stride, step - 1, count);
  }
}

void Rows::see_step(const Loop& loop, std::int64_t step) {
  for (const View& view : loop.views) {
    void* const address = address_at(*plan->buffers[view.buffer].view, view.stride, step, loop.count);
    for (const std::uint32_t i : view.addresses) addresses[i] = address;
  }
}

}  // namespace hearth::runtime
