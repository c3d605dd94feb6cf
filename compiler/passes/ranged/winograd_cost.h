// winograd_cost: estimated cycles of a 3x3 convolution of f32 whose channels are innermost, in the units of
// tune/tile_cost. Pure.
#pragma once
#include "compiler/passes/ranged/convolution.h"
#include "hearth/v1/artifact.pb.h"

namespace hearth::passes {

// By passes/ranged/winograd; infinite where that is not for it.
double winograd_cycles(const Convolution& convolution, const v1::Target& target);
// As the sum that it is.
double direct_cycles(const Convolution& convolution, const v1::Target& target);

}  // namespace hearth::passes
