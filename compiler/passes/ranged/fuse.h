// fuse: takes back stages whose value is cheaper to compute where it is used than to store and load.
//
// Cost model (see fuse.cpp): an elementwise stage is computed in place when that repeats no work or little of it; a
// reduction is computed in place when every element is still computed exactly once and its loop can stand outside of
// the consumer's remaining loops (epilogues, softmax and layernorm as one row kernel). Padding is computed in place
// where few or many results read each element and its conditions are masks in registers or the same for a whole vector.
#pragma once
#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"
#include "compiler/target/target.h"

namespace hearth::passes {

// A load of a stage whose gate can be false stands under a where on that gate (rangeify makes it so): taken in, the
// stage's value is computed there with the gate on its own loads, not replaced by zero. So rules that read the gate off
// a load and drop the where (rules/gate.cpp) must not run between rangeify and fuse.
//
// sink(stage...) -> sink(stage...) with fewer stages.
absl::StatusOr<ir::UOpRef> fuse(ir::Graph& graph, ir::UOpRef sink, const target::Target& target);

}  // namespace hearth::passes
