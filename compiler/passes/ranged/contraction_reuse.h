// Contractions with reuse: sums over products each of whose operands is used many times (convolutions, products of
// matrices). Such a sum is fast only in a kernel that is tiled for it, and a kernel is tiled for one. Pure functions.
#pragma once
#include <vector>

#include "compiler/ir/graph.h"

namespace hearth::passes {

// Whether one of a stage's nodes is a contraction with reuse that is worth a tile. A product of a matrix and a vector
// is none: it reads each element once.
bool has_contraction_with_reuse(const std::vector<ir::UOpRef>& nodes);

// Whether one of them is a sum of products of two values that are read, with reuse or without.
bool has_sum_of_products(const std::vector<ir::UOpRef>& nodes);

}  // namespace hearth::passes
