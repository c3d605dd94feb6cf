// share_allocations: a row computed in place.
//
// When a store writes an allocation element by element from another allocation that nobody else reads (softmax: exp
// over the scores, then the quotients over exp), both live in one memory: a block of rows then fits a nearer cache.
// Which allocation lies where is AllocationInfo::memory; the interpreters of codegen/reference give each allocation its
// own and so check this.
#pragma once
#include "compiler/ir/graph.h"
#include "compiler/target/target.h"

namespace hearth::passes {

// `kernel`: a flat kernel, before block_rows and opts. Rows of a workgroup stay where they are: invocations read those of
// others, and would wait for each other once more.
ir::UOpRef share_allocations(ir::Graph& graph, ir::UOpRef kernel, const target::Target& target);

}  // namespace hearth::passes
