// winograd_cost: estimated cycles of a 3x3 convolution of f32 whose channels are innermost, in the units of
// tune/tile_cost. Pure.
#pragma once
#include "compiler/passes/ranged/convolution.h"
#include "compiler/target/target.h"

namespace hearth::passes {

// By passes/ranged/winograd at the upper bounds of lengths; infinite where that is not for it.
double winograd_cycles(const Convolution& convolution, const target::Target& target);
// From how many results of one channel on (batch times rows times columns) that is faster than the sum that it is.
// Within a range of lengths there may be a place where it becomes so; small gains and losses at an end count as none.
struct WinogradUse {
  enum class When { Never, From, Always } when = When::Never;
  std::int64_t least_results = 0;  // with From
};
WinogradUse winograd_use(const Convolution& convolution, const target::Target& target);

}  // namespace hearth::passes
