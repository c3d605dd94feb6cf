// Packed copies of a kernel's operands (passes/kernel/pack_operands): which there are, and the kernels that make them,
// each a task for the same list of steps as any kernel.
#pragma once
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/passes/kernel/kernel_context.h"

namespace hearth::passes {

// The kernel with its operands that `opts` packs in copies; fills `out.packings`, but for their kernels, and
// `out.buffers`.
absl::StatusOr<ir::UOpRef> pack(const KernelContext& context, ir::UOpRef kernel, const std::vector<schedule::Opt>& opts,
                                Kernel& out);

// What makes a copy, a task a region.
std::vector<KernelTask> tasks_of(const Kernel::Packing& packing, std::uint32_t provenance);

// The same without the stage that is copied, an elementwise one: its copy's kernels compute what they would have read.
// Slots: the copy, then what the stage reads.
absl::StatusOr<std::vector<KernelTask>> tasks_computing_source(ir::Graph& graph, const Kernel::Packing& packing);

}  // namespace hearth::passes
