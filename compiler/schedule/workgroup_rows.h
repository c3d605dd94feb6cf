// workgroup_rows: kernels of reductions of which there are too few to keep the device busy, one an invocation (softmax,
// norms, long sums): a workgroup computes each together, its invocations side by side along what is read in one piece; or
// several results side by side, each with shares of its sum, where what is read lies along the results.
#pragma once
#include <vector>

#include "compiler/schedule/kernel_facts.h"
#include "compiler/schedule/opts.h"

namespace hearth::schedule {

// None where there are reductions enough, or they are short.
std::vector<Opt> rows_of_workgroup(const KernelFacts& facts, const target::Target& target);

// All sizes of workgroups that are possible, whether or not there are reductions enough.
std::vector<std::vector<Opt>> all_rows_of_workgroup(const KernelFacts& facts, const target::Target& target);

}  // namespace hearth::schedule
