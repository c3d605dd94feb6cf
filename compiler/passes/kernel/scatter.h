// scatter: the flat kernel of a Scatter stage. Data is copied, then each update is written (or combined with what is
// there) at its index along the first axis, one after the other, so that of several updates of one place the last one
// stands and sums have one order. Cost: linear in data and updates; vectors run along the rows, threads take columns
// each.
#pragma once
#include "absl/status/statusor.h"
#include "compiler/passes/kernel/kernel.h"
#include "compiler/target/target.h"

namespace hearth::passes {

// `stage`: a stage of a Scatter (passes/ranged/rangeify). Slots: the result, data, indices, updates. Its opts are its
// own.
absl::StatusOr<KernelTask> scatter_task(ir::Graph& graph, ir::UOpRef stage, const target::Target& target);

}  // namespace hearth::passes
