// Loops of a plan in an instance: where each step finds what it sees.
#include <algorithm>
#include <limits>

#include "base/text.h"
#include "runtime/instance_state.h"

namespace hearth::runtime {

void Instance::State::add_loops() {
  const Plan& parsed = wire();
  const auto forks_before = [&](std::uint32_t launch) {  // forks are in the order of their launches
    const auto launch_of = [this](const Fork& fork) { return steps[fork.first_step].launch; };
    return static_cast<std::uint32_t>(std::ranges::lower_bound(forks, launch, {}, launch_of) - forks.begin());
  };
  for (const PlanLoop& from : parsed.loops) {
    Loop& loop = loops.emplace_back();
    loop.first_fork = forks_before(from.first_launch);
    loop.end_fork = forks_before(from.first_launch + from.num_launches);
  }
  if (loops.empty()) return;
  std::vector<std::vector<std::uint32_t>> uses(parsed.buffers.size());  // of views, in `addresses`
  for (std::uint32_t a = 0; a < step_buffers.size(); ++a) {
    if (parsed.buffers[step_buffers[a]].view) uses[step_buffers[a]].push_back(a);
  }
  for (std::uint32_t i = 0; i < parsed.buffers.size(); ++i) {
    const std::optional<PlanView>& view = parsed.buffers[i].view;
    if (view && !uses[i].empty()) loops[view->loop].views.push_back({i, 0, std::move(uses[i])});
  }
}

absl::Status Instance::State::refresh_loops() {
  for (std::size_t i = 0; i < loops.size(); ++i) {
    Loop& loop = loops[i];
    loop.count = wire().loops[i].count.evaluate(values.data());
    for (View& view : loop.views) {
      const PlanView& of = *wire().buffers[view.buffer].view;
      view.stride = wire().buffers[view.buffer].size_bytes(values.data());
      if (absl::Status status = check_seen(view.buffer, of, view.stride, loop.count); !status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

// Whether a step sees `size` bytes in whatever the view looks at, for the variables' values.
absl::Status Instance::State::check_seen(std::uint32_t view, const PlanView& of, std::size_t size,
                                         std::int64_t count) const {
  const auto has = [&](std::uint32_t buffer, std::size_t needed) -> absl::Status {
    const std::size_t there = wire().buffers[buffer].size_bytes(values.data());
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
  if (absl::Status status = has(of.buffer, size); !status.ok()) return status;
  return of.kind == v1::LoopView::CARRIED ? has(of.other, size)
                                          : check_seen(view, *wire().buffers[of.other].view, size, count);
}

void* Instance::State::address_at(const PlanView& view, std::size_t stride, std::int64_t step,
                                  std::int64_t count) const {
  switch (view.kind) {
    case v1::LoopView::SLICE: {
      const std::int64_t at = view.reverse ? count - 1 - step : step;
      return static_cast<char*>(slots[view.buffer].address) + static_cast<std::size_t>(at) * stride;
    }
    case v1::LoopView::CARRIED:
      return slots[(count - 1 - step) % 2 == 0 ? view.buffer : view.other].address;
    default:  // PREVIOUS
      return step == 0 ? slots[view.buffer].address
                       : address_at(*wire().buffers[view.other].view, stride, step - 1, count);
  }
}

void Instance::State::see_step(const Loop& loop, std::int64_t step) {
  for (const View& view : loop.views) {
    void* const address = address_at(*wire().buffers[view.buffer].view, view.stride, step, loop.count);
    for (const std::uint32_t i : view.addresses) addresses[i] = address;
  }
}

}  // namespace hearth::runtime
