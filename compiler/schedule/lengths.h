// lengths: what to reckon with where a loop's length depends on variables. Pure functions of the range.
#pragma once
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "compiler/ir/uop.h"

namespace hearth::schedule {

// Iterations of a loop; where they are not known, the most there may be, within reason.
std::int64_t assumed_length(ir::UOpRef range);

// The geometric mean of `cost` over lengths that a loop may have: the least, the greatest, and between them powers of
// two and what lies halfway between these, which is what lengths mostly are. They are as often small as large, and a
// choice should be bad at none of them.
double mean_over_lengths(ir::UOpRef range, absl::FunctionRef<double(std::int64_t length)> cost);

}  // namespace hearth::schedule
