// windows: a tile for kernels in which every result sums (or takes the largest of) a few elements around its own place:
// depthwise convolutions and pools.
//
// Vectors run along the axis that is innermost in memory, some neighbours of another axis (rows) are computed together
// and the window is written out, so that weights are read once for all rows, and elements that lie in the windows of
// several rows once for these. Where the innermost axis is channels this is so for any stride, padding and plane.
#pragma once
#include <optional>

#include "compiler/schedule/kernel_facts.h"
#include "compiler/schedule/opts.h"

namespace hearth::schedule {

// Nothing when the kernel is none of these, or its windows are large.
std::optional<std::vector<Opt>> tile_windows(const KernelFacts& facts, const std::vector<SlotFacts>& slots);

}  // namespace hearth::schedule
