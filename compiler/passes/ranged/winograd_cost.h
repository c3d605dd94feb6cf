// winograd_cost: estimated cycles of a 3x3 convolution of f32 whose channels are innermost, in the units of
// tune/tile_cost. Pure.
#pragma once
#include "compiler/passes/ranged/convolution.h"
#include "compiler/target/target.h"

namespace hearth::passes {

// By passes/ranged/winograd at the upper bounds of lengths; infinite where that is not for it.
double winograd_cycles(const Convolution& convolution, const target::Target& target);
// Whether that is faster than the sum that it is; for a range of lengths on balance, by the geometric mean of what it
// gains at the least and at the greatest.
bool is_winograd_faster(const Convolution& convolution, const target::Target& target);

}  // namespace hearth::passes
