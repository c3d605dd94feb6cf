// Loops of a plan in an instance: where each step finds what it sees.
#include <algorithm>

#include "runtime/instance_state.h"
#include "runtime/text.h"

namespace hearth::runtime {

void Instance::State::add_loops() {
  const Plan& parsed = wire();
  const auto steps_before = [&](std::uint32_t launch) {
    return static_cast<std::uint32_t>(std::ranges::count_if(steps, [&](const Step& s) { return s.launch < launch; }));
  };
  for (const PlanLoop& from : parsed.loops) {
    Loop& loop = loops.emplace_back();
    loop.first_step = steps_before(from.first_launch);
    loop.end_step = steps_before(from.first_launch + from.num_launches);
  }
  for (std::uint32_t i = 0; i < parsed.buffers.size(); ++i) {
    const std::optional<PlanView>& view = parsed.buffers[i].view;
    if (!view) continue;
    View seen = {i, 0, {}};
    for (std::uint32_t a = 0; a < step_buffers.size(); ++a) {
      if (step_buffers[a] == i) seen.addresses.push_back(a);
    }
    loops[view->loop].views.push_back(std::move(seen));
  }
}

absl::Status Instance::State::refresh_loops() {
  for (std::size_t i = 0; i < loops.size(); ++i) {
    Loop& loop = loops[i];
    loop.count = wire().loops[i].count.evaluate(values.data());
    for (View& view : loop.views) {
      const PlanView& of = *wire().buffers[view.buffer].view;
      view.stride = wire().buffers[view.buffer].size_bytes(values.data());
      const bool is_slice = of.kind == v1::LoopView::SLICE;
      const std::size_t needed = view.stride * (is_slice ? static_cast<std::size_t>(loop.count) : 1);
      const std::size_t there = wire().buffers[of.buffer].size_bytes(values.data());
      if (there >= needed) continue;
      return absl::FailedPreconditionError(str_cat("plan: buffer ", view.buffer, ": a loop of ", loop.count,
                                                   " steps sees ", needed, " bytes of buffer ", of.buffer,
                                                   ", which has ", there, " for the variables' values"));
    }
  }
  return absl::OkStatus();
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
