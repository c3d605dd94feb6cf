// What a kernel does, counted: arithmetic, elements stored, bytes, cycles.
#pragma once
#include "compiler/passes/kernel/kernel_context.h"

namespace hearth::passes {

// Of a flat kernel, before opts, whose slots are `out.buffers`: num_ops, work, launch_work and, where it is described,
// cost.
void count_work(const KernelContext& context, ir::UOpRef flat, Kernel& out);

// Where it is described: cycles of the kernel after opts.
void estimate_cycles(const KernelContext& context, ir::UOpRef kernel, Kernel& out);

}  // namespace hearth::passes
