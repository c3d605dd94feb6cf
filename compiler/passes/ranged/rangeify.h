// rangeify: tensor-level graph -> scalar expressions over ranges.
//
// Every value that is stored becomes stage(value, ranges...); it is read by load(index(stage, i..., gate)). Movement
// ops are gone: they became index expressions; a pad became a where and a gate on the loads below it. Stages made here
// are generous (every reduction, every shared or expanded value); `fuse` takes back what it can. Source of the idea:
// tinygrad's rangeify.
#pragma once
#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"

namespace hearth::passes {

// sink(output...) -> sink(stage...), one stage an output, in order. Trailing reshapes of an output need no code and are
// dropped.
absl::StatusOr<ir::UOpRef> rangeify(ir::Graph& graph, ir::UOpRef sink);

}  // namespace hearth::passes
