// What a kernel does, counted: arithmetic, elements stored, bytes, cycles.
#pragma once
#include "compiler/passes/kernel/kernel_context.h"

namespace hearth::passes {

// Fills in num_ops, work, launch_work and, where kernels are described, cost of a flat kernel before opts, whose slots
// are `out.buffers`.
void count_work(const KernelContext& context, ir::UOpRef flat, Kernel& out);

// Where it is described: cycles of the kernel after opts.
void estimate_cycles(const KernelContext& context, ir::UOpRef kernel, Kernel& out);

}  // namespace hearth::passes
