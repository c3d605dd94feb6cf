// invocation_tile: what one invocation computes of a kernel with one reduction that reuses what it reads (matrix products,
// convolutions): a tile of results, `columns` along the axis that stores run along and `rows` along another one, whose
// sums it keeps at hand. An element of the reduction then takes columns + rows loads for columns * rows multiply-adds
// (V. Volkov, "Better performance at lower occupancy", GTC 2010). The tile is the one of least estimated time by the
// target's numbers: large tiles load less, small ones keep more invocations busy.
#pragma once
#include "compiler/schedule/tile_axes.h"

namespace hearth::schedule {

// No opts where a tile gains nothing.
TimedOpts tile_of_invocation(const KernelFacts& facts, const TileAxes& axes, const target::Target& target);

// All that are possible, the one of an element among them.
std::vector<TimedOpts> tiles_of_invocation(const KernelFacts& facts, const TileAxes& axes,
                                           const target::Target& target);

}  // namespace hearth::schedule
