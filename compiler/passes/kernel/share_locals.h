// share_locals: a row computed in place.
//
// When a store writes a local element by element from another local that nobody else reads (softmax: exp over the
// scores, then the quotients over exp), both live in one memory: a block of rows then fits a nearer cache. Which local
// lies where is LocalInfo::memory; the interpreters of codegen/reference give each local its own and so check this.
#pragma once
#include "compiler/ir/graph.h"

namespace hearth::passes {

// `kernel`: a flat kernel, before block_rows and opts.
ir::UOpRef share_locals(ir::Graph& graph, ir::UOpRef kernel);

}  // namespace hearth::passes
