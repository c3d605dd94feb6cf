#include "compiler/passes/kernel/append_loop.h"

#include <algorithm>

namespace hearth::passes {
namespace {

class Appender {
 public:
  Appender(const LoopPlace& place, const ImportedLoop& loop, const Schedule& body)
      : out_(place.schedule),
        loop_(loop),
        body_(body),
        around_(place),
        at_(body.buffers.size()),
        differs_(body.buffers.size()) {}

  void place_buffers() {
    id_ = static_cast<std::uint32_t>(out_.loops.size());
    out_.loops.push_back({loop_.count});
    place_outputs();
    std::uint32_t operand = 0;
    for (std::size_t i = 0; i < body_.buffers.size(); ++i) {
      const PlannedBuffer& buffer = body_.buffers[i];
      switch (buffer.kind) {
        case ir::BufferKind::Input:
        case ir::BufferKind::Parameter:
          at_[i] = place_operand(buffer, operand++);
          break;
        case ir::BufferKind::Output:
          break;
        default:
          at_[i] = add(buffer);
          if (buffer.kind == ir::BufferKind::Arena) out_.buffers.back().loop = id_;
      }
    }
  }

  // What is the same in every step is made once in front of the loop. Launches of the body, in their order.
  bool is_in_front(const PlannedLaunch& launch) {
    const std::uint32_t made = launch.buffers[0];
    const bool differs = body_.buffers[made].kind == ir::BufferKind::Output ||
                         std::any_of(launch.buffers.begin() + 1, launch.buffers.end(),
                                     [this](std::uint32_t buffer) { return differs_[buffer]; });
    differs_[made] = differs;
    if (!differs) out_.buffers[at_[made]].loop.reset();
    return !differs;
  }

  PlannedLaunch placed(const PlannedLaunch& launch, std::uint32_t kernel, bool in_front) const {
    PlannedLaunch result = launch;
    result.kernel = kernel;
    for (std::uint32_t& buffer : result.buffers) buffer = at_[buffer];
    if (!in_front) result.loop = id_;
    return result;
  }

 private:
  std::uint32_t add(PlannedBuffer buffer) {
    out_.buffers.push_back(std::move(buffer));
    return static_cast<std::uint32_t>(out_.buffers.size() - 1);
  }

  std::uint32_t add_memory(const PlannedBuffer& like) {
    PlannedBuffer buffer = like;
    buffer.kind = ir::BufferKind::Arena;
    buffer.name.clear();
    return add(std::move(buffer));
  }

  std::uint32_t add_view(const PlannedBuffer& of, const PlannedView& view) {
    const std::uint32_t buffer = add_memory(of);
    out_.buffers[buffer].view = view;
    return buffer;
  }

  void place_outputs() {
    std::size_t output = 0;
    for (std::size_t i = 0; i < body_.buffers.size(); ++i) {
      if (body_.buffers[i].kind != ir::BufferKind::Output) continue;
      const std::uint32_t result = loop_.results[output++];
      const std::optional<std::uint32_t> memory = around_.results[result];
      if (loop_.is_stacked(result) && memory) {
        at_[i] = add_view(body_.buffers[i], {v1::LoopView::SLICE, id_, *memory, 0, loop_.reverse});
      } else {
        const std::uint32_t last = memory ? *memory : add_memory(body_.buffers[i]);
        const std::uint32_t other = add_memory(body_.buffers[i]);
        at_[i] = add_view(body_.buffers[i], {v1::LoopView::CARRIED, id_, last, other, false});
      }
      if (result < loop_.carried) carried_.push_back(at_[i]);  // results are in order, carried ones first
    }
  }

  std::uint32_t place_operand(const PlannedBuffer& buffer, std::uint32_t operand) {
    const std::uint32_t memory = around_.operands[operand];
    differs_[static_cast<std::size_t>(&buffer - body_.buffers.data())] = operand < loop_.carried + loop_.sliced;
    if (operand < loop_.carried)
      return add_view(buffer, {v1::LoopView::PREVIOUS, id_, memory, carried_[operand], false});
    if (operand < loop_.carried + loop_.sliced)
      return add_view(buffer, {v1::LoopView::SLICE, id_, memory, 0, loop_.reverse});
    return memory;
  }

  Schedule& out_;
  const ImportedLoop& loop_;
  const Schedule& body_;
  const LoopPlace& around_;
  std::vector<std::uint32_t> at_;       // buffer of the body -> of the schedule around
  std::vector<bool> differs_;           // buffers of the body: from step to step
  std::vector<std::uint32_t> carried_;  // views of what the body makes of its carried values
  std::uint32_t id_ = 0;
};

}  // namespace

void append_loop(const LoopPlace& place, const ImportedLoop& loop, const Schedule& body,
                 const std::function<std::uint32_t(const PlannedKernel&)>& kernel_of) {
  Schedule& schedule = place.schedule;
  schedule.bounds.add(body.bounds);
  const auto makes_result = [&](const PlannedLaunch& launch) {
    return body.buffers[launch.buffers[0]].kind == ir::BufferKind::Output;
  };
  if (std::ranges::none_of(body.launches, makes_result)) return;  // all results are empty
  Appender appender(place, loop, body);
  appender.place_buffers();
  std::vector<PlannedLaunch> steps;
  for (const PlannedLaunch& launch : body.launches) {
    const bool in_front = appender.is_in_front(launch);
    (in_front ? schedule.launches : steps)
        .push_back(appender.placed(launch, kernel_of(body.kernels[launch.kernel]), in_front));
  }
  schedule.launches.insert(schedule.launches.end(), steps.begin(), steps.end());
}

}  // namespace hearth::passes
