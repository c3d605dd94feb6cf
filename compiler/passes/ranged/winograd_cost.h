// winograd_cost: estimated cycles of a 3x3 convolution of f32 whose channels are innermost, in the units of
// tune/tile_cost. Pure.
#pragma once
#include "compiler/passes/ranged/convolution.h"
#include "compiler/target/target.h"

namespace hearth::passes {

// By passes/ranged/winograd; infinite where that is not for it.
double winograd_cycles(const Convolution& convolution, const target::Target& target);
// As the sum that it is.
double direct_cycles(const Convolution& convolution, const target::Target& target);

}  // namespace hearth::passes
