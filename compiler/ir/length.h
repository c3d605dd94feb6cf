// One form for every length: a sum of products of variables and quotients with its common factors in front, so that
// lengths that are equal as polynomials are one node, whoever wrote them: (n - 1)/2 + 1 and (n + 1)/2, n*m and m*n.
#pragma once
#include "compiler/ir/graph.h"

namespace hearth::ir {

// `x` itself where the sum would have more than 64 terms or a coefficient of 2^56 or more.
UOpRef canonical_length(Graph& g, UOpRef x);

// Provably a >= b; what is not proved may still hold.
bool is_at_least(Graph& g, UOpRef a, UOpRef b);

}  // namespace hearth::ir
