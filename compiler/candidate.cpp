#include "compiler/candidate.h"

#include <algorithm>

#include "compiler/compile.h"
#include "compiler/passes/report.h"
#include "compiler/pipeline.h"
#include "compiler/schedule/check_workgroups.h"
#include "compiler/schedule/opts_proto.h"
#include "compiler/schedule/scheduler.h"
#include "fmt/format.h"

namespace hearth::compiler {
namespace {

using ir::Op;
using ir::UOpRef;

// A flat kernel read back, its params standing for buffers of their own.
struct Flat {
  UOpRef root = nullptr;
  std::vector<UOpRef> buffers;
  std::vector<schedule::SlotFacts> facts;
  std::vector<std::pair<UOpRef, UOpRef>> upper_bounds;  // variable -> its upper bound
};

// Elements a param must have for every access of the kernel.
std::int64_t elements_of(UOpRef param, std::span<const UOpRef> nodes) {
  std::int64_t elements = 1;
  for (UOpRef x : nodes) {
    if (x->is(Op::Index) && x->source(0) == param) elements = std::max(elements, x->source(1)->bounds.max + 1);
  }
  return elements;
}

absl::StatusOr<Flat> read(ir::Graph& g, const v1::FlatKernel& wire) {
  Flat flat;
  HEARTH_ASSIGN_OR_RETURN(flat.root, ir::parse(g, wire.ast()));
  HEARTH_RETURN_IF_ERROR(passes::check(passes::Level::Flat, "flat kernel", flat.root));
  if (!flat.root->is(Op::Sink) || flat.root->sources.empty()) return absl::InvalidArgumentError("not a flat kernel");
  const auto num_slots = static_cast<std::size_t>(wire.slots_size());
  flat.buffers.resize(num_slots);
  for (const v1::FlatKernel::Slot& slot : wire.slots()) flat.facts.push_back({slot.once(), slot.constant_shape()});
  const std::vector<UOpRef> nodes = toposort(flat.root);
  for (UOpRef x : nodes) {
    if (x->is(Op::Var)) flat.upper_bounds.emplace_back(x, g.index(x->as<ir::VarInfo>().max));
    if (!x->is(Op::Param)) continue;
    const std::uint32_t slot = x->as<ir::ParamInfo>().slot;
    if (slot >= num_slots) return absl::InvalidArgumentError(fmt::format("a flat kernel without its slot {}", slot));
    const std::int64_t elements = elements_of(x, nodes);
    UOpRef length =
        wire.slots(static_cast<int>(slot)).constant_shape() ? g.index(elements) : g.var("length", 0, elements, 0);
    flat.buffers[slot] = g.make(Op::Buffer, x->dtype, {length}, ir::BufferInfo{ir::BufferKind::Arena, slot});
  }
  if (std::ranges::count(flat.buffers, nullptr) > 0)
    return absl::InvalidArgumentError("a flat kernel with a slot that it does not use");
  return flat;
}

class Builder {
 public:
  Builder(ir::Graph& g, const Flat& flat, const target::Target& target, const v1::CompileOptions& options)
      : g_(g), flat_(flat), target_(target), options_(options) {}

  absl::StatusOr<v1::Candidate> run(const passes::Kernel& kernel) {
    *out_.mutable_opts() = kernel.choice.opts();
    for (UOpRef buffer : flat_.buffers) add_buffer(buffer, buffer->source(0)->bounds.max);
    out_.set_num_params(static_cast<std::uint32_t>(order_.size()));
    for (const passes::Kernel::Packing& packing : kernel.packings) {
      add_buffer(packing.copy, packing.elements);
      for (const passes::Kernel& copy : packing.kernels)
        HEARTH_RETURN_IF_ERROR(add_launch(copy, flat_.facts[packing.source->as<ir::BufferInfo>().id].once));
    }
    HEARTH_RETURN_IF_ERROR(add_launch(kernel, false));
    return std::move(out_);
  }

 private:
  void add_buffer(UOpRef buffer, std::int64_t elements) {
    order_.push_back(buffer);
    v1::Candidate::Buffer& added = *out_.add_buffers();
    added.set_dtype(static_cast<v1::DType>(buffer->dtype.scalar));
    added.set_bytes(static_cast<std::uint64_t>(elements) * static_cast<std::uint64_t>(byte_size(buffer->dtype)));
  }

  absl::Status add_launch(const passes::Kernel& kernel, bool once) {
    v1::Candidate::Launch& launch = *out_.add_launches();
    launch.set_symbol(fmt::format("hearth_candidate_{}", out_.launches_size()));
    launch.set_once(once);
    if (target_.unit() == target::Unit::Invocation) {
      launch.set_workgroup_size(kernel.workgroup > 0 ? kernel.workgroup : target_.workgroup_size());
      launch.set_unit_is_workgroup(kernel.workgroup > 0);
    }
    for (UOpRef buffer : kernel.buffers)
      launch.add_buffers(static_cast<std::uint32_t>(std::ranges::find(order_, buffer) - order_.begin()));
    for (std::uint32_t var : kernel.vars) {
      for (const auto& [x, most] : flat_.upper_bounds) {
        if (x->as<ir::VarInfo>().slot == var) launch.add_vars(most->int_value());
      }
    }
    const ir::Bounds grid = substitute(g_, kernel.grid, flat_.upper_bounds)->bounds;
    if (grid.min != grid.max) return absl::InternalError("the grid is no function of the variables");
    launch.set_grid(static_cast<std::uint64_t>(std::max<std::int64_t>(0, grid.max)));
    v1::KernelSpec spec;
    spec.set_symbol(launch.symbol());
    spec.set_ast(ir::print(
        g_.make(Op::Sink, ir::Scalar::Void, kernel.root->sources, ir::KernelInfo{std::string(launch.symbol())})));
    HEARTH_ASSIGN_OR_RETURN(v1::CompiledKernel compiled, compile_kernel(spec, target_.record(), options_));
    launch.mutable_artifact()->swap(*compiled.mutable_artifact()->mutable_data());
    return absl::OkStatus();
  }

  ir::Graph& g_;
  const Flat& flat_;
  const target::Target& target_;
  const v1::CompileOptions& options_;
  v1::Candidate out_;
  std::vector<UOpRef> order_;  // Candidate.buffers
};

}  // namespace

absl::StatusOr<v1::Candidate> candidate(const v1::CandidateSpec& spec, const v1::Target& record,
                                        const v1::CompileOptions& options) {
  const target::Target target(record);
  if (!target.is_tuned())
    return absl::UnimplementedError(fmt::format("device '{}' is not tuned for; use cpu", target.device()));
  ir::Graph g;
  HEARTH_ASSIGN_OR_RETURN(Flat flat, read(g, spec.kernel()));
  passes::Tuning tuning;
  tuning.describe = true;
  passes::KernelTask task{.flat = flat.root, .buffers = flat.buffers, .may_pack = spec.kernel().may_pack()};
  if (spec.has_opts()) {
    HEARTH_ASSIGN_OR_RETURN(task.forced, schedule::from_proto(spec.opts().opts()));
  }
  const passes::IsInvariant is_invariant = [&](UOpRef buffer) {
    return flat.facts[buffer->as<ir::BufferInfo>().id].once;
  };
  google::protobuf::RepeatedPtrField<v1::PassReport> reports;
  passes::PassLog log(&reports, /*dump=*/false);
  HEARTH_ASSIGN_OR_RETURN(const std::optional<passes::Kernel> kernel,
                          lower_to_kernel(task, {g, target, tuning, is_invariant}, log));
  v1::CompileOptions plain = options;
  plain.clear_dump();
  return Builder(g, flat, target, plain).run(*kernel);
}

absl::StatusOr<v1::Neighbours> neighbours(const v1::NeighboursSpec& spec, const v1::Target& target) {
  ir::Graph g;
  HEARTH_ASSIGN_OR_RETURN(Flat flat, read(g, spec.kernel()));
  HEARTH_ASSIGN_OR_RETURN(std::vector<schedule::Opt> opts, schedule::from_proto(spec.opts()));
  HEARTH_RETURN_IF_ERROR(schedule::check_opts(flat.root, opts));
  HEARTH_RETURN_IF_ERROR(schedule::check_workgroups(flat.root, opts, target));
  v1::Neighbours out;
  for (const auto& list :
       schedule::scheduler_for(target).neighbours(flat.root, target, {flat.facts, spec.kernel().may_pack(), opts}))
    *out.add_lists()->mutable_opts() = schedule::to_proto(list);
  return out;
}

}  // namespace hearth::compiler
