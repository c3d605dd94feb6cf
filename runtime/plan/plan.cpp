#include "runtime/plan/plan.h"

#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

#include "base/status_macros.h"
#include "base/text.h"
#include "proto/versions.h"
#include "runtime/plan/fork_limit.h"
#include "runtime/plan/invalid_plan.h"
#include "runtime/plan/plan_conditions.h"
#include "runtime/plan/plan_loops.h"
#include "runtime/plan/plan_regions.h"

namespace hearth::runtime {
namespace {

constexpr std::int64_t kMaxBlockBytes = std::int64_t{1} << 42;
constexpr int kMaxItems = 1 << 20;
constexpr int kMaxLaunchSlots = 1 << 17;  // a concatenation of thousands of inputs is one kernel
constexpr int kMaxRank = 32;
constexpr std::size_t kMaxNameBytes = 1024;

absl::Status within(const absl::Status& status, const std::string& place) {
  return invalid_plan(place, ": ", std::string(status.message()));
}

absl::Status check_vars(const v1::Plan& wire, Plan& plan) {
  std::set<std::string> names;
  for (int i = 0; i < wire.vars_size(); ++i) {
    const v1::Variable& var = wire.vars(i);
    if (var.name().empty() || var.name().size() > kMaxNameBytes) {
      return invalid_plan("variable ", i, ": the name is empty or longer than ", kMaxNameBytes, " bytes");
    }
    if (!names.insert(var.name()).second)
      return invalid_plan("variable ", i, ": the name '", var.name(), "' is used twice");
    if (var.min() < 0 || var.min() > var.max()) {
      return invalid_plan("variable '", var.name(), "': bounds [", var.min(), ", ", var.max(),
                          "] are not 0 <= min <= max");
    }
    if (var.unit() < 0 || (var.unit() > 0 && (var.min() % var.unit() != 0 || var.max() % var.unit() != 0)))
      return invalid_plan("variable '", var.name(), "': bounds [", var.min(), ", ", var.max(), "] by ", var.unit(),
                          " are no multiples");
    plan.vars.push_back({var.name(), var.min(), var.max(), std::max<std::int64_t>(1, var.unit())});
  }
  return absl::OkStatus();
}

absl::Status check_block(const PlanBuffer& buffer, std::size_t block_bytes, const std::string& place,
                         std::string_view block) {
  if (buffer.offset % kBufferAlignment != 0) {
    return invalid_plan(place, ": offset ", buffer.offset, " is not a multiple of ", kBufferAlignment);
  }
  if (buffer.offset > block_bytes || buffer.max_bytes > block_bytes - buffer.offset) {
    return invalid_plan(place, ": bytes [", buffer.offset, ", +", buffer.max_bytes, ") lie outside the ", block, " of ",
                        block_bytes, " bytes");
  }
  return absl::OkStatus();
}

absl::Status check_shape(const v1::PlanBuffer& wire, PlanBuffer& buffer, const std::vector<PlanVariable>& vars,
                         const std::string& place) {
  if (wire.shape_size() > kMaxRank) return invalid_plan(place, ": ", wire.shape_size(), " axes; at most ", kMaxRank);
  __int128 bytes = static_cast<__int128>(dtype_bytes(buffer.dtype));
  for (int axis = 0; axis < wire.shape_size(); ++axis) {
    absl::StatusOr<Expr> length = Expr::compile(wire.shape(axis), vars);
    if (!length.ok()) return within(length.status(), str_cat(place, ": axis ", axis));
    if (length->min() < 0) return invalid_plan(place, ": axis ", axis, ": the length may be negative");
    // A zero length elsewhere must not hide a product beyond the limit.
    bytes *= std::max<std::int64_t>(length->max(), 1);
    if (bytes > kMaxBlockBytes) return invalid_plan(place, ": the shape is larger than ", kMaxBlockBytes, " bytes");
    buffer.shape.push_back(*std::move(length));
  }
  for (const Expr& length : buffer.shape) {
    if (length.max() == 0) bytes = 0;
  }
  if (wire.max_bytes() > static_cast<std::uint64_t>(kMaxBlockBytes)) {
    return invalid_plan(place, ": max_bytes ", wire.max_bytes(), " is over the limit of ", kMaxBlockBytes);
  }
  if (wire.max_bytes() < static_cast<std::uint64_t>(bytes)) {
    return invalid_plan(place, ": max_bytes ", wire.max_bytes(), " is less than the ", static_cast<std::int64_t>(bytes),
                        " bytes its shape needs");
  }
  buffer.max_bytes = wire.max_bytes();
  return absl::OkStatus();
}

absl::Status check_kind(const v1::PlanBuffer& wire, PlanBuffer& buffer, const Plan& plan,
                        std::set<std::pair<int, std::string>>& names, const std::string& place) {
  const bool named = buffer.kind == v1::PlanBuffer::INPUT || buffer.kind == v1::PlanBuffer::OUTPUT ||
                     buffer.kind == v1::PlanBuffer::PARAMETER;
  if (named && (buffer.name.empty() || buffer.name.size() > kMaxNameBytes)) {
    return invalid_plan(place, ": the name is empty or longer than ", kMaxNameBytes, " bytes");
  }
  if (named && !names.insert({buffer.kind, buffer.name}).second) {
    return invalid_plan(place, ": the name '", buffer.name, "' is used twice");
  }
  const bool fixed = buffer.kind == v1::PlanBuffer::PARAMETER || buffer.kind == v1::PlanBuffer::CONSTANT ||
                     buffer.kind == v1::PlanBuffer::PERSISTENT;
  if (fixed) {
    for (const Expr& length : buffer.shape) {
      if (!length.is_const())
        return invalid_plan(place, ": its shape depends on a variable; expected a constant shape");
    }
  }
  if (buffer.kind != v1::PlanBuffer::CONSTANT && !wire.data().empty()) {
    return invalid_plan(place, ": it holds ", wire.data().size(), " data bytes; only constants do");
  }
  switch (buffer.kind) {
    case v1::PlanBuffer::CONSTANT:
      if (wire.data().size() != buffer.max_bytes) {
        return invalid_plan(place, ": ", wire.data().size(), " data bytes for max_bytes ", buffer.max_bytes);
      }
      buffer.data = wire.data();
      return absl::OkStatus();
    case v1::PlanBuffer::ARENA:
      return check_block(buffer, plan.arena_bytes, place, "arena");
    case v1::PlanBuffer::PERSISTENT:
      return check_block(buffer, plan.persistent_bytes, place, "persistent block");
    case v1::PlanBuffer::VIEW:
      buffer.view = {wire.view().kind(), wire.view().loop(), wire.view().buffer(), wire.view().other(),
                     wire.view().reverse()};
      return absl::OkStatus();
    case v1::PlanBuffer::INPUT:
    case v1::PlanBuffer::OUTPUT:
    case v1::PlanBuffer::PARAMETER:
      return absl::OkStatus();
    default:
      return invalid_plan(place, ": kind ", static_cast<int>(buffer.kind), " is unknown to this version");
  }
}

absl::Status check_storage(const v1::PlanBuffer& wire, PlanBuffer& buffer, const std::string& place) {
  if (wire.storage().empty()) return absl::OkStatus();
  if (buffer.kind != v1::PlanBuffer::INPUT && buffer.kind != v1::PlanBuffer::OUTPUT)
    return invalid_plan(place, ": only inputs and outputs begin a larger memory");
  if (wire.storage_size() != wire.shape_size())
    return invalid_plan(place, ": memory of ", wire.storage_size(), " axes for ", wire.shape_size());
  __int128 bytes = static_cast<__int128>(dtype_bytes(buffer.dtype));
  for (int axis = 0; axis < wire.storage_size(); ++axis) {
    const std::int64_t length = wire.storage(axis), needed = buffer.shape[static_cast<std::size_t>(axis)].max();
    if (length < needed)
      return invalid_plan(place, ": axis ", axis, ": the memory has ", length, " elements; ", needed, " are needed");
    bytes *= length;
    if (bytes > static_cast<__int128>(buffer.max_bytes))
      return invalid_plan(place, ": its memory is larger than max_bytes, ", buffer.max_bytes);
  }
  buffer.storage.assign(wire.storage().begin(), wire.storage().end());
  return absl::OkStatus();
}

absl::Status check_carried(const v1::Plan& wire, Plan& plan) {
  std::set<std::uint32_t> inputs;
  for (int i = 0; i < wire.buffers_size(); ++i) {
    const v1::PlanBuffer& from = wire.buffers(i);
    const std::string place = str_cat("buffer ", i);
    if (from.in_place() && !from.has_carried_to()) return invalid_plan(place, ": it is made in the place of no input");
    if (from.in_place() && wire.version() < kInPlacePlanVersion)
      return invalid_plan(place, ": it is made in the place of an input, which plans of version ", wire.version(),
                          " do not have");
    if (!from.has_carried_to()) continue;
    const std::uint32_t to = from.carried_to();
    PlanBuffer& output = plan.buffers[static_cast<std::size_t>(i)];
    if (output.kind != v1::PlanBuffer::OUTPUT || to >= plan.buffers.size() ||
        plan.buffers[to].kind != v1::PlanBuffer::INPUT || !inputs.insert(to).second)
      return invalid_plan(place, ": carried_to ", to, " is no input that an output can be carried to");
    const PlanBuffer& input = plan.buffers[to];
    if (from.in_place() && (output.dtype != input.dtype || output.shape.size() != input.shape.size() ||
                            output.storage != input.storage || output.max_bytes != input.max_bytes))
      return invalid_plan(place, ": its memory is another one than that of input '", input.name, "'");
    output.carried_to = to;
    output.in_place = from.in_place();
  }
  return absl::OkStatus();
}

absl::Status check_buffers(const v1::Plan& wire, Plan& plan) {
  std::set<std::pair<int, std::string>> names;
  for (int i = 0; i < wire.buffers_size(); ++i) {
    const v1::PlanBuffer& from = wire.buffers(i);
    const std::string place = str_cat("buffer ", i);
    PlanBuffer buffer;
    buffer.kind = from.kind();
    buffer.name = from.name();
    const std::optional<DType> dtype = dtype_from_wire(from.dtype());
    if (!dtype) return invalid_plan(place, ": dtype ", static_cast<int>(from.dtype()), " is unknown to this version");
    buffer.dtype = *dtype;
    buffer.offset = from.offset();
    HEARTH_RETURN_IF_ERROR(check_shape(from, buffer, plan.vars, place));
    HEARTH_RETURN_IF_ERROR(check_kind(from, buffer, plan, names, place));
    HEARTH_RETURN_IF_ERROR(check_storage(from, buffer, place));
    plan.buffers.push_back(std::move(buffer));
  }
  return check_carried(wire, plan);
}

bool is_identifier(std::string_view text) {
  if (text.empty() || text.size() > 256) return false;
  return std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '$';
  });
}

absl::Status check_kernels(const v1::Plan& wire, Plan& plan) {
  for (int i = 0; i < wire.kernels_size(); ++i) {
    const v1::PlanKernel& kernel = wire.kernels(i);
    if (!is_identifier(kernel.symbol()))
      return invalid_plan("kernel ", i, ": the symbol is not a name of 1 to 256 letters");
    // None of a device that runs no code; others refuse to load such a plan (hal/artifact_bytes.h).
    if (!kernel.artifact().empty() && kernel.artifact().size() != 32) {
      return invalid_plan("kernel ", i, " '", kernel.symbol(), "': the artifact digest has ", kernel.artifact().size(),
                          " bytes; expected 32");
    }
    if (plan.target.has_gpu() && kernel.workgroup_size() == 0)
      return invalid_plan("kernel ", i, " '", kernel.symbol(), "': the workgroup_size is missing");
    if (std::ranges::adjacent_find(kernel.stored_slots(), std::greater_equal<>()) != kernel.stored_slots().end())
      return invalid_plan("kernel ", i, " '", kernel.symbol(), "': stored_slots do not ascend");
    if (std::ranges::adjacent_find(kernel.summed_slots(), std::greater_equal<>()) != kernel.summed_slots().end())
      return invalid_plan("kernel ", i, " '", kernel.symbol(), "': summed_slots do not ascend");
    plan.kernels.push_back({kernel.symbol(),
                            kernel.artifact(),
                            kernel.num_ops(),
                            kernel.workgroup_size(),
                            kernel.unit_is_workgroup(),
                            {kernel.stored_slots().begin(), kernel.stored_slots().end()},
                            {kernel.summed_slots().begin(), kernel.summed_slots().end()}});
  }
  return absl::OkStatus();
}

// All slots of one launch are alive together, so different buffers never share bytes.
absl::Status check_overlaps(const PlanLaunch& launch, const Plan& plan, const std::string& place) {
  std::vector<std::uint32_t> in_blocks;
  for (const std::uint32_t slot : launch.buffers) {
    for (const std::uint32_t index : memory_of(plan, slot)) {
      const PlanBuffer& buffer = plan.buffers[index];
      const bool in_block = buffer.kind == v1::PlanBuffer::ARENA || buffer.kind == v1::PlanBuffer::PERSISTENT;
      if (in_block && buffer.max_bytes > 0) in_blocks.push_back(index);
    }
  }
  const auto begins_at = [&](std::uint32_t index) {
    return std::tuple(static_cast<int>(plan.buffers[index].kind), plan.buffers[index].offset, index);
  };
  std::sort(in_blocks.begin(), in_blocks.end(),
            [&](std::uint32_t a, std::uint32_t b) { return begins_at(a) < begins_at(b); });
  in_blocks.erase(std::unique(in_blocks.begin(), in_blocks.end()), in_blocks.end());
  // In this order two that overlap have neighbours that do.
  for (std::size_t i = 1; i < in_blocks.size(); ++i) {
    const PlanBuffer& before = plan.buffers[in_blocks[i - 1]];
    const PlanBuffer& buffer = plan.buffers[in_blocks[i]];
    if (before.kind == buffer.kind && buffer.offset < before.offset + before.max_bytes) {
      const auto [first, second] = std::minmax(in_blocks[i - 1], in_blocks[i]);
      return invalid_plan(place, ": buffers ", first, " and ", second, " overlap");
    }
  }
  return absl::OkStatus();
}

absl::Status check_launch_buffers(std::size_t number, const PlanLaunch& launch, const Plan& plan,
                                  const std::string& place) {
  for (std::size_t i = 0; i < launch.buffers.size(); ++i) {
    if (launch.buffers[i] >= plan.buffers.size()) {
      return invalid_plan(place, ": slot ", i, ": buffer ", launch.buffers[i], " does not exist; the plan has ",
                          plan.buffers.size());
    }
    const PlanBuffer& buffer = plan.buffers[launch.buffers[i]];
    const bool shared = buffer.kind == v1::PlanBuffer::PARAMETER || buffer.kind == v1::PlanBuffer::CONSTANT ||
                        buffer.kind == v1::PlanBuffer::PERSISTENT;
    if (buffer.view) {
      const PlanLoop& loop = plan.loops[buffer.view->loop];
      if (number < loop.first_launch || number - loop.first_launch >= loop.num_launches) {
        return invalid_plan(place, ": slot ", i, ": buffer ", launch.buffers[i], " is a view of loop ",
                            buffer.view->loop, ", which the launch is no part of");
      }
    }
    if (buffer.in_place)
      return invalid_plan(place, ": slot ", i, ": buffer ", launch.buffers[i], " is made in the place of an input");
    if (launch.once && !shared) {
      return invalid_plan(place, ": slot ", i, ": a once launch uses buffer ", launch.buffers[i],
                          ", which belongs to an instance");
    }
  }
  return check_overlaps(launch, plan, place);
}

absl::Status check_launches(const v1::Plan& wire, Plan& plan) {
  for (int i = 0; i < wire.launches_size(); ++i) {
    const v1::Launch& from = wire.launches(i);
    const std::string place = str_cat("launch ", i);
    if (from.kernel() >= plan.kernels.size()) {
      return invalid_plan(place, ": kernel ", from.kernel(), " does not exist; the plan has ", plan.kernels.size());
    }
    if (from.buffers_size() > kMaxLaunchSlots || from.vars_size() > kMaxLaunchSlots) {
      return invalid_plan(place, ": more than ", kMaxLaunchSlots, " slots");
    }
    PlanLaunch launch;
    launch.kernel = from.kernel();
    launch.buffers.assign(from.buffers().begin(), from.buffers().end());
    launch.once = from.once();
    const std::vector<std::uint32_t>& stored = plan.kernels[launch.kernel].stored_slots;
    if (!stored.empty() && stored.back() >= launch.buffers.size()) {
      return invalid_plan(place, ": kernel '", plan.kernels[launch.kernel].symbol, "' stores to slot ", stored.back(),
                          "; the launch has ", launch.buffers.size());
    }
    const std::vector<std::uint32_t>& summed = plan.kernels[launch.kernel].summed_slots;
    if (!summed.empty() && summed.back() >= launch.buffers.size()) {
      return invalid_plan(place, ": kernel '", plan.kernels[launch.kernel].symbol, "' sums slot ", summed.back(),
                          "; the launch has ", launch.buffers.size());
    }
    if (absl::Status status = check_launch_buffers(static_cast<std::size_t>(i), launch, plan, place); !status.ok())
      return status;
    for (std::uint32_t var : from.vars()) {
      if (var >= plan.vars.size()) {
        return invalid_plan(place, ": variable ", var, " does not exist; the plan has ", plan.vars.size());
      }
      if (launch.once) return invalid_plan(place, ": a once launch depends on variable '", plan.vars[var].name, "'");
      launch.vars.push_back(var);
    }
    absl::StatusOr<Expr> grid = Expr::compile(from.grid(), plan.vars);
    if (!grid.ok()) return within(grid.status(), str_cat(place, ": grid"));
    if (grid->min() < 0) return invalid_plan(place, ": the grid may be negative");
    if (launch.once && !grid->is_const())
      return invalid_plan(place, ": the grid of a once launch depends on a variable");
    launch.grid = *std::move(grid);
    const v1::Expr* at = from.has_min_units_at() ? &from.min_units_at() : nullptr;
    const absl::Status fork = parse_fork_limit(from.min_units_per_thread(), at, plan, launch.once, place, launch.fork);
    if (!fork.ok()) return fork;
    if (from.has_num_ops()) {
      absl::StatusOr<Expr> num_ops = Expr::compile(from.num_ops(), plan.vars);
      if (!num_ops.ok()) return within(num_ops.status(), str_cat(place, ": num_ops"));
      if (num_ops->min() < 0) return invalid_plan(place, ": num_ops may be negative");
      if (launch.once && !num_ops->is_const())
        return invalid_plan(place, ": num_ops of a once launch depends on a variable");
      launch.num_ops = *std::move(num_ops);
    }
    plan.launches.push_back(std::move(launch));
  }
  return absl::OkStatus();
}

}  // namespace

std::size_t PlanBuffer::size_bytes(const std::int64_t* values) const {
  std::size_t bytes = dtype_bytes(dtype);
  for (const Expr& length : shape) bytes *= static_cast<std::size_t>(length.evaluate(values));
  return bytes;
}

absl::StatusOr<Plan> parse_plan(std::string_view bytes) {
  v1::Plan wire;
  const google::protobuf::LogSilencer quiet;  // the status says it
  if (!wire.ParseFromArray(bytes.data(), static_cast<int>(std::min<std::size_t>(bytes.size(), INT32_MAX)))) {
    return invalid_plan("the ", bytes.size(), " bytes are not a serialized plan");
  }
  if (wire.version() < kPlanVersion || wire.version() > kConditionalPlanVersion) {
    return absl::FailedPreconditionError(
        str_cat("plan: version ", wire.version(), "; this runtime understands versions ", kPlanVersion, " to ",
                kConditionalPlanVersion, "; use a client and a daemon of one release"));
  }
  if (std::max({wire.vars_size(), wire.buffers_size(), wire.kernels_size(), wire.launches_size(), wire.loops_size(),
                wire.regions_size()}) > kMaxItems) {
    return invalid_plan("more than ", kMaxItems, " variables, buffers, kernels, launches, loops or regions");
  }
  const auto limit = static_cast<std::uint64_t>(kMaxBlockBytes);
  if (wire.arena_bytes() > limit)
    return invalid_plan("arena_bytes ", wire.arena_bytes(), " is over the limit of ", limit);
  if (wire.persistent_bytes() > limit) {
    return invalid_plan("persistent_bytes ", wire.persistent_bytes(), " is over the limit of ", limit);
  }
  Plan plan;
  plan.target = wire.target();
  plan.arena_bytes = wire.arena_bytes();
  plan.persistent_bytes = wire.persistent_bytes();
  if (plan.target.device().empty()) return invalid_plan("target: the device is not named");
  HEARTH_RETURN_IF_ERROR(check_vars(wire, plan));
  HEARTH_RETURN_IF_ERROR(check_buffers(wire, plan));
  HEARTH_RETURN_IF_ERROR(check_loops(wire, plan));
  HEARTH_RETURN_IF_ERROR(check_kernels(wire, plan));
  HEARTH_RETURN_IF_ERROR(check_launches(wire, plan));
  HEARTH_RETURN_IF_ERROR(check_regions(wire, plan));
  HEARTH_RETURN_IF_ERROR(check_conditions(wire, plan));
  return plan;
}

}  // namespace hearth::runtime
