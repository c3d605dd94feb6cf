// keep_scores: attention in one kernel of a GPU: a workgroup keeps a block of rows of its scores, and their exponentials,
// in shared memory, and multiplies the values with them.
//
//   scores[q][k] = sum of Q K;  e[q][k] = exp(scores - their maximum);  out[q][d] = (sum over k of e V) / (sum over k of e)
//
// The quotient of the softmax is taken of its products, as FlashAttention does (Dao et al., 2022): both sums run in one
// loop, and no row is gone through once more. Taken where rows fit the memory of a workgroup, in f32, and where no matrix
// unit would compute the products from memory.
#pragma once
#include "compiler/ir/graph.h"
#include "compiler/target/target.h"

namespace hearth::passes {

// sink(stage...) -> the same with StageInfo.kept set on the scores and exponentials of such attention.
ir::UOpRef keep_scores(ir::Graph& graph, ir::UOpRef sink, const target::Target& target);

}  // namespace hearth::passes
