#include "compiler/passes/kernel/kernel_memo.h"

#include <algorithm>

#include "compiler/passes/ranged/stages.h"
#include "compiler/passes/report.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::UOpRef;

// The same kernel for `to` in place of `from`.
void rename(KernelAst& kernel, const std::vector<UOpRef>& from, const std::vector<UOpRef>& to,
            std::uint32_t provenance) {
  const auto renamed = [&](UOpRef buffer) {
    const auto found = std::ranges::find(from, buffer);
    return found == from.end() ? buffer : to[static_cast<std::size_t>(found - from.begin())];
  };
  kernel.provenance = provenance;
  for (UOpRef& buffer : kernel.buffers) buffer = renamed(buffer);
  for (KernelAst::Packing& packing : kernel.packings) {
    packing.source = renamed(packing.source);
    for (KernelAst& copy : packing.kernels) rename(copy, from, to, provenance);
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
    const auto kind = is_once_(buffer) ? ir::BufferKind::Parameter : ir::BufferKind::Input;
    return g_.make(Op::Buffer, buffer->dtype, axes_of(buffer), ir::BufferInfo{kind, number});
  };
  for (UOpRef x : stage_body(stage)) {
    form.provenance = g_.merge_provenance(form.provenance, x->provenance);
    if (x->is(Op::Var) || (x->is(Op::Stage) && x != stage)) return std::nullopt;
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

absl::StatusOr<KernelAst> KernelMemo::build(UOpRef stage) {
  const std::optional<Form> form = form_of(stage);
  const auto found = form ? built_.find(form->stage) : built_.end();
  if (found != built_.end()) {
    KernelAst kernel = found->second.kernel;
    rename(kernel, found->second.buffers, form->buffers, form->provenance);
    return kernel;
  }
  HEARTH_ASSIGN_OR_RETURN(KernelAst kernel, build_kernel(g_, stage, target_, is_once_, tuning_));
  if (form) built_.emplace(form->stage, Built{kernel, form->buffers});
  return kernel;
}

absl::Status KernelMemo::compute_in_copy(KernelAst::Packing& packing) {
  const std::optional<Form> form = form_of(packing.source);
  if (!form) return passes::compute_in_copy(g_, packing, target_, tuning_);
  CopyKey key = {form->stage, packing.flat};
  key.second.push_back(packing.copy);
  if (const auto found = copied_.find(key); found != copied_.end()) {
    packing.kernels = found->second.kernels;
    for (KernelAst& copy : packing.kernels) rename(copy, found->second.buffers, form->buffers, form->provenance);
    return absl::OkStatus();
  }
  HEARTH_RETURN_IF_ERROR(passes::compute_in_copy(g_, packing, target_, tuning_));
  copied_.emplace(std::move(key), Copied{packing.kernels, form->buffers});
  return absl::OkStatus();
}

}  // namespace hearth::passes
