// Sums of products by label. Errors: JitError.
//
//   Tensor scores = einsum("bhqd,bhkd->bhqk", {q, k});
#pragma once
#include <string_view>
#include <vector>

#include "hearth/tensor.h"

#pragma GCC visibility push(default)
namespace hearth::client {

// numpy.einsum: letters label axes, "..." broadcasts, a letter twice in one operand takes its diagonal; without "->"
// the ellipsis and the letters that occur once, in alphabetical order; what the result lacks is summed over. Operands
// are multiplied from left to right, a pair at a time as a matrix product.
Tensor einsum(std::string_view equation, const std::vector<Tensor>& operands, Loc loc = Loc::current());

}  // namespace hearth::client
#pragma GCC visibility pop
