// Which reductions a target's matrix unit may compute (target/matrix_unit.h): sums of products of narrow numbers in a
// wider type.
//
//   std::optional<target::MatrixUnit> unit = vector_unit(reduce, target);   // f32 operands: never one
#pragma once
#include <optional>

#include "compiler/ir/graph.h"
#include "compiler/target/target.h"

namespace hearth::schedule {

// The narrow operands of a sum of products in a wider dtype, in which they are exact.
struct Product {
  ir::UOpRef a = nullptr, b = nullptr;
};
std::optional<Product> narrow_product(ir::UOpRef reduce);

// The operands of a product of f16 or of bf16 that a GPU's matrix unit computes; both are plain loads.
std::optional<Product> matrix_product(ir::UOpRef reduce);

// Whether both operands are plain loads that move with `range`, one of the reduction's: loads that are switched off
// then add nothing to the sum.
bool is_product_along(ir::UOpRef reduce, ir::UOpRef range);

// The best unit of one row for a reduction; nothing if it is no narrow product.
std::optional<target::MatrixUnit> vector_unit(ir::UOpRef reduce, const target::Target& target);

}  // namespace hearth::schedule
