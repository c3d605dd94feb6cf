#include "compiler/passes/kernel/kernel_memo.h"

#include <algorithm>
#include <unordered_map>

#include "compiler/passes/kernel/packed_copies.h"
#include "compiler/passes/ranged/stages.h"
#include "compiler/passes/report.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::UOpRef;

// The same kernel for `to` in place of `from`.
void rename(Kernel& kernel, const std::vector<UOpRef>& from, const std::vector<UOpRef>& to, std::uint32_t provenance) {
  const auto renamed = [&](UOpRef buffer) {
    const auto found = std::ranges::find(from, buffer);
    return found == from.end() ? buffer : to[static_cast<std::size_t>(found - from.begin())];
  };
  kernel.provenance = provenance;
  for (UOpRef& buffer : kernel.buffers) buffer = renamed(buffer);
  for (Kernel::Packing& packing : kernel.packings) {
    packing.source = renamed(packing.source);
    for (Kernel& copy : packing.kernels) rename(copy, from, to, provenance);
  }
}

}  // namespace

std::optional<KernelMemo::Form> KernelMemo::form_of(UOpRef stage) {
  if (!stage->is(Op::Stage)) return std::nullopt;
  Form form;
  form.buffers = {stage};
  std::unordered_map<UOpRef, UOpRef> done;
  std::vector<UOpRef> sources;
  ir::ProvenanceScope scope(g_, 0);
  std::uint32_t num_ranges = 0;
  const auto placeholder = [&](UOpRef buffer) {
    const auto found = std::ranges::find(form.buffers, buffer);
    const auto number = static_cast<std::uint32_t>(found - form.buffers.begin());
    if (found == form.buffers.end()) form.buffers.push_back(buffer);
    const auto kind = context_.is_invariant(buffer) ? ir::BufferKind::Parameter : ir::BufferKind::Input;
    return g_.make(Op::Buffer, buffer->dtype, axes_of(buffer), ir::BufferInfo{kind, number});
  };
  for (UOpRef x : stage_body(stage)) {
    form.provenance = g_.merge_provenance(form.provenance, x->provenance);
    if (x->is(Op::Stage) && x != stage) return std::nullopt;
    if (x->is(Op::Buffer) || x == stage) continue;
    sources.clear();
    for (UOpRef s : x->sources) {
      if (s->is(Op::Stage) && s->as<ir::StageInfo>().kept) return std::nullopt;
      const bool is_memory = s->is(Op::Stage) || s->is(Op::Buffer);
      sources.push_back(is_memory ? placeholder(s) : done.at(s));
    }
    if (x->is(Op::Range)) {
      done[x] = g_.range(sources[0], num_ranges++, x->as<ir::RangeInfo>().kind);
    } else {
      done[x] = g_.with_sources(x, sources);
    }
  }
  sources.clear();
  for (UOpRef s : stage->sources) sources.push_back(done.at(s));
  form.stage = g_.make(Op::Stage, stage->dtype, sources, ir::StageInfo{});
  return form;
}

absl::StatusOr<Kernel> KernelMemo::lower(UOpRef stage) {
  HEARTH_ASSIGN_OR_RETURN(std::optional<Kernel> kernel, lower_in_place(stage, nullptr));
  return *std::move(kernel);
}

absl::StatusOr<std::optional<Kernel>> KernelMemo::lower_in_place(UOpRef stage, UOpRef buffer) {
  const std::optional<Form> form = form_of(stage);
  // The stage itself is no memory of its operands: 0 stands for none.
  const auto slot = form && buffer ? std::ranges::find(form->buffers, buffer) - form->buffers.begin() : 0;
  const FormKey key{form ? form->stage : nullptr, slot};
  const auto found = form ? built_.find(key) : built_.end();
  if (found != built_.end()) {
    std::optional<Kernel> kernel = found->second.kernel;
    if (kernel) rename(*kernel, found->second.buffers, form->buffers, form->provenance);
    return kernel;
  }
  HEARTH_ASSIGN_OR_RETURN(std::optional<Kernel> kernel,
                          lower_({.stage = stage, .in_place = buffer, .may_pack = true}, context_));
  if (form) built_.emplace(key, Built{kernel, form->buffers});
  return kernel;
}

absl::Status KernelMemo::lower_copies(Kernel::Packing& packing) {
  HEARTH_ASSIGN_OR_RETURN(const std::vector<KernelTask> tasks, tasks_computing_source(g_, packing));
  packing.kernels.clear();
  for (const KernelTask& task : tasks) {
    HEARTH_ASSIGN_OR_RETURN(std::optional<Kernel> copy, lower_(task, context_));
    packing.kernels.push_back(*std::move(copy));
  }
  return absl::OkStatus();
}

absl::Status KernelMemo::compute_in_copy(Kernel::Packing& packing) {
  const std::optional<Form> form = form_of(packing.source);
  if (!form) return lower_copies(packing);
  CopyKey key = {form->stage, packing.flat};
  key.second.push_back(packing.copy);
  if (const auto found = copied_.find(key); found != copied_.end()) {
    packing.kernels = found->second.kernels;
    for (Kernel& copy : packing.kernels) rename(copy, found->second.buffers, form->buffers, form->provenance);
    return absl::OkStatus();
  }
  HEARTH_RETURN_IF_ERROR(lower_copies(packing));
  copied_.emplace(std::move(key), Copied{packing.kernels, form->buffers});
  return absl::OkStatus();
}

}  // namespace hearth::passes
