// gpu_estimate: how long one launch takes on a GPU, as far as a kernel's loops and opts and the target's numbers tell: what
// each invocation computes and loads, how many of them run at a time, and what memory gives. For `hearth explain`; pure.
// A share of the roofline (S. Williams et al., "Roofline", 2009).
#pragma once
#include "compiler/passes/kernel/kernel_cost.h"
#include "compiler/target/target.h"

namespace hearth::passes {

// `kernel`: after opts and copies to shared memory, before number_invocations. Sets cycles and least_cycles, both in
// multiply-adds of an invocation while as many run as keep the device busy, occupancy and shared_bytes; `cost` has the
// kernel's operations and bytes.
void estimate_on_gpu(ir::UOpRef kernel, const target::Target& target, KernelCost& cost);

}  // namespace hearth::passes
