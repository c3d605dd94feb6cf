// What a matrix unit of a GPU computes: the invocations of a subgroup give their fragments of two matrices and get their
// fragments of the product (ir/matrix_layout.h). Floats are summed in double and rounded once.
#pragma once
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/codegen/reference/lane_ops.h"
#include "compiler/ir/uop.h"

namespace hearth::codegen::reference {

struct SubgroupOperands {
  Value a, b;
};

// `operands` and the result: of each invocation of the subgroup. An error where the operands are no fragments of the
// layout, or invocations that have the same element have it with different values.
absl::StatusOr<std::vector<Value>> subgroup_products(ir::UOpRef wmma, const std::vector<SubgroupOperands>& operands);

}  // namespace hearth::codegen::reference
