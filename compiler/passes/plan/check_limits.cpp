#include "compiler/passes/plan/check_limits.h"

#include "base/status_macros.h"
#include "compiler/passes/import/import_expr.h"
#include "fmt/format.h"

namespace hearth::passes {
namespace {

using ir::BufferKind;

std::string_view word_of(BufferKind kind) {
  switch (kind) {
    case BufferKind::Input:
      return "input";
    case BufferKind::Output:
      return "output";
    case BufferKind::Parameter:
      return "parameter";
    case BufferKind::Constant:
      return "constant";
    case BufferKind::Arena:
    case BufferKind::Persistent:
      break;
  }
  return "intermediate value";
}

// What the runtime takes, whatever the device.
absl::Status check_blocks(const MemoryPlan& memory) {
  const auto too_large = [](std::string_view what, std::uint64_t bytes) {
    return absl::InvalidArgumentError(
        fmt::format("the traced graph's {} take {} bytes together at the variables' upper bounds, at most {} are "
                    "possible; use smaller lengths or bounds",
                    what, bytes, kMaxStoredBytes));
  };
  if (memory.arena_bytes > kMaxStoredBytes) return too_large("intermediate values", memory.arena_bytes);
  if (memory.persistent_bytes > kMaxStoredBytes) return too_large("values made once", memory.persistent_bytes);
  return absl::OkStatus();
}

absl::Status check_buffers(const Schedule& schedule, const MemoryPlan& memory, const target::Target& target) {
  const std::uint64_t most = target.max_buffer_bytes();
  const auto refuse = [&](const std::string& what, std::uint64_t bytes) {
    return absl::InvalidArgumentError(fmt::format(
        "{} takes {} bytes at the variables' upper bounds, and one buffer of target {} at most {} (max_buffer_bytes); "
        "use smaller lengths or bounds",
        what, bytes, target.name(), most));
  };
  for (const PlannedBuffer& buffer : schedule.buffers) {
    if (!buffer.view && buffer.max_bytes > most)
      return refuse(fmt::format("{} '{}'", word_of(buffer.kind), buffer.name), buffer.max_bytes);
  }
  if (memory.arena_bytes > most) return refuse("the block of all intermediate values", memory.arena_bytes);
  if (memory.persistent_bytes > most) return refuse("the block of values made once", memory.persistent_bytes);
  return absl::OkStatus();
}

}  // namespace

absl::Status check_limits(const Schedule& schedule, const MemoryPlan& memory, const target::Target& target) {
  HEARTH_RETURN_IF_ERROR(check_blocks(memory));
  if (target.max_buffer_bytes() > 0) {
    HEARTH_RETURN_IF_ERROR(check_buffers(schedule, memory, target));
  }
  if (target.max_units() == 0) return absl::OkStatus();
  for (const PlannedLaunch& launch : schedule.launches) {
    const std::int64_t units = launch.grid->bounds.max;
    if (units <= target.max_units()) continue;
    const PlannedKernel& kernel = schedule.kernels[launch.kernel];
    return absl::InvalidArgumentError(fmt::format(
        "kernel '{}' ({}) has {} units at the variables' upper bounds, and a launch of target {} at most {}; use "
        "smaller lengths or bounds",
        kernel.symbol, kernel.source, units, target.name(), target.max_units()));
  }
  return absl::OkStatus();
}

}  // namespace hearth::passes
