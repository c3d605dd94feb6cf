// Instance::buffer: any buffer of the plan, intermediates included.
#include "base/status_macros.h"
#include "base/text.h"
#include "runtime/plan/plan_loops.h"
#include "runtime/replay/instance_state.h"

namespace hearth::runtime {
namespace {

struct Use {
  std::size_t first = SIZE_MAX;  // launches
  std::size_t last = 0;
  bool exists() const { return first != SIZE_MAX; }
};

std::vector<Use> uses_of(const Plan& plan) {
  std::vector<Use> uses(plan.buffers.size());
  const auto use = [&](std::uint32_t buffer, std::size_t first, std::size_t last) {
    uses[buffer].first = std::min(uses[buffer].first, first);
    uses[buffer].last = std::max(uses[buffer].last, last);
  };
  for (std::size_t launch = 0; launch < plan.launches.size(); ++launch) {
    for (const std::uint32_t buffer : plan.launches[launch].buffers) use(buffer, launch, launch);
  }
  for (std::uint32_t i = 0; i < plan.buffers.size(); ++i) {
    if (!plan.buffers[i].view) continue;
    const PlanLoop& loop = plan.loops[plan.buffers[i].view->loop];
    for (const std::uint32_t buffer : memory_of(plan, i))
      use(buffer, loop.first_launch, loop.first_launch + loop.num_launches - 1);
  }
  return uses;
}

std::string label(const LoadedPlan& plan, std::uint32_t id) {
  const BufferInfo& info = plan.buffers()[id];
  return info.kernel.empty() ? str_cat("buffer ", id) : str_cat("buffer ", id, " (of kernel '", info.kernel, "')");
}

bool share_memory(const PlanBuffer& a, const PlanBuffer& b) {
  if (a.max_bytes == 0 || b.max_bytes == 0) return false;
  return a.kind == b.kind && a.offset < b.offset + b.max_bytes && b.offset < a.offset + a.max_bytes;
}

}  // namespace

// Buffers that share memory are alive at different times, so one is intact when all the others came before it.
absl::Status Instance::State::check_intact(std::uint32_t id) const {
  if (!has_executed) {
    return absl::FailedPreconditionError(
        str_cat(label(*plan, id), " is an intermediate and nothing was executed yet: call execute() first"));
  }
  const std::vector<Use> uses = uses_of(wire());
  if (!uses[id].exists()) return absl::FailedPreconditionError(str_cat("no kernel writes buffer ", id));
  if (keeps_intermediates) return absl::OkStatus();
  for (std::uint32_t other = 0; other < wire().buffers.size(); ++other) {
    if (other == id || !uses[other].exists() || uses[other].last < uses[id].first) continue;
    if (!share_memory(wire().buffers[id], wire().buffers[other])) continue;
    return absl::FailedPreconditionError(
        str_cat(label(*plan, id), " is gone: ", label(*plan, other),
                " has used its memory since; make the instance with keep_intermediates to read every intermediate"));
  }
  return absl::OkStatus();
}

absl::StatusOr<const void*> Instance::State::read_intermediate(std::uint32_t id) {
  const std::size_t offset =
      static_cast<std::size_t>(static_cast<char*>(rows->memory[id]) - static_cast<char*>(arena.address()));
  if (arena.data() != nullptr) return static_cast<const char*>(arena.data()) + offset;
  const std::size_t size = wire().buffers[id].size_bytes(executed_values.data());
  HEARTH_ASSIGN_OR_RETURN(Buffer copy, Buffer::allocate(size, str_cat("buffer ", id)));
  HEARTH_RETURN_IF_ERROR(plan->device().read(arena, offset, copy.data(), size));
  return (read_back[id] = std::move(copy)).data();
}

absl::StatusOr<ConstView> Instance::buffer(std::uint32_t id) const {
  const Plan& plan = state_->wire();
  if (id >= plan.buffers.size()) {
    return absl::NotFoundError(str_cat("there is no buffer ", id, "; the plan has ", plan.buffers.size()));
  }
  const PlanBuffer& buffer = plan.buffers[id];
  if (buffer.view) {
    return absl::FailedPreconditionError(
        str_cat("buffer ", id, " is what a step of a loop sees; read buffer ", buffer.view->buffer));
  }
  if (buffer.kind == v1::PlanBuffer::ARENA) {
    HEARTH_RETURN_IF_ERROR(state_->check_intact(id));
  }
  // The caller may have bound other memory to an input or output since, for the present values.
  const bool is_io = buffer.kind == v1::PlanBuffer::INPUT || buffer.kind == v1::PlanBuffer::OUTPUT;
  const std::vector<std::int64_t>& values = is_io ? state_->values : state_->executed_values;
  HEARTH_ASSIGN_OR_RETURN(const void* const address, is_io ? state_->read_io(id)
                                                     : buffer.kind == v1::PlanBuffer::ARENA
                                                         ? state_->read_intermediate(id)
                                                         : state_->plan->host_address(id));
  return ConstView{address, buffer.size_bytes(values.data()), buffer.dtype, State::shape_at(buffer, values),
                   buffer.name.empty() ? str_cat(id) : buffer.name};
}

std::string_view to_string(BufferKind kind) {
  switch (kind) {
    case BufferKind::kInput:
      return "input";
    case BufferKind::kOutput:
      return "output";
    case BufferKind::kParameter:
      return "parameter";
    case BufferKind::kConstant:
      return "constant";
    case BufferKind::kIntermediate:
      return "intermediate";
    case BufferKind::kPersistent:
      return "persistent";
    case BufferKind::kView:
      return "view";
  }
  return "unknown";
}

}  // namespace hearth::runtime
