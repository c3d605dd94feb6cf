// compute_at: which stages live inside the kernel of their only reader, a row at a time, instead of in a buffer.
//
// A large stage that its reader goes through row by row (attention: the scores in the softmax, the softmax in the
// product with V) need not be written as a whole: for each value of the loops that both share, one row of it is kept
// in an allocation. The stage's own operands are then read again for every block of rows, so they must fit in a cache.
//
// Source: the idea of FlashAttention (Dao et al., 2022), with whole rows in place of its running maximum and sum.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/target/target.h"

namespace hearth::passes {

// sink(stage...) -> the same with StageInfo.kept set on stages that passes/kernel/kernel puts into their reader's
// kernel.
ir::UOpRef compute_at(ir::Graph& graph, ir::UOpRef sink, const target::Target& target);

// A stage that `reader` reads at `indices` (index(stage, i..., gate)): the reader's loops that stand for all its axes
// but the last one, in the order of its axes; nothing when it is not read row by row.
std::optional<std::vector<ir::UOpRef>> shared_loops(ir::UOpRef stage, ir::UOpRef reader,
                                                    std::span<const ir::UOpRef> indices);

}  // namespace hearth::passes
