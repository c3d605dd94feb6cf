// One total order of UOps for the operands of commutative operations: constants last, then operation, dtype, payload
// and sources in turn. It depends on structure alone; only trees that agree on their first few hundred nodes fall back
// on creation order. Never on addresses.
#pragma once
#include "compiler/ir/uop.h"

namespace hearth::rewrite {

// Negative: a comes first; 0 only for the same node.
int compare_nodes(ir::UOpRef a, ir::UOpRef b);

}  // namespace hearth::rewrite
