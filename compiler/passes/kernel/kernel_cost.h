// kernel_cost: the work of one launch of a flat kernel, at the variables' upper bounds: arithmetic, and bytes of its
// buffers. For people (`hearth explain`); what decides how a kernel is compiled is in choose_opts.
//
//   KernelCost cost = kernel_cost(flat, elements);   // elements[slot]: of the buffer behind each param
#pragma once
#include <cstdint>
#include <vector>

#include "compiler/ir/graph.h"

namespace hearth::passes {

struct KernelCost {
  // Arithmetic on elements: a multiply-add counts two, an element of a reduction one. Conversions, comparisons,
  // selections and index arithmetic count nothing.
  double ops = 0;
  // Elements touched, each once however often. A gate counts as open: what padding leaves out is only left out as far
  // as it lies outside of the buffer.
  double bytes_read = 0;
  double bytes_written = 0;
  // passes/kernel/kernel_estimate, and the least that the operations take on one core of the target; 0: not known.
  double cycles = 0, least_cycles = 0;
  // On a GPU (passes/kernel/gpu_estimate): the kernel's invocations as a share of those that keep the GPU busy, and the
  // memory of a workgroup.
  double occupancy = 0, shared_bytes = 0;
  double guarded = 0;  // accesses that passes/kernel/check_bounds found no proof for: each compares at run time
};

// Operations of one evaluation of a node: 0, 1, or 2 for a multiply-add.
int ops_of(ir::UOpRef node);

// `flat`: before opts, sink(store(index(param | allocation, position, gate), value, ranges...)...).
KernelCost kernel_cost(ir::UOpRef flat, const std::vector<std::int64_t>& elements);

}  // namespace hearth::passes
