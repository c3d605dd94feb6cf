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

// Where a load or a store of a cooperative matrix, whose first element lies at `position`, has the elements of an
// invocation. Which those are is nobody's business, so they are others than the ones that ir/matrix_layout.h would give it:
// what takes one for its own without a barrier is a race.
Value fragment_positions(const ir::MatrixAccess& access, std::int64_t position, std::int64_t invocation);
// The positions of all elements: any invocation of the subgroup may load any of them.
Value matrix_positions(const ir::MatrixAccess& access, std::int64_t position);

}  // namespace hearth::codegen::reference
