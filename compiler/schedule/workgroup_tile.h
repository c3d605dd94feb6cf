// workgroup_tile: what a workgroup computes together of a kernel with one reduction that reuses what it reads: a block
// of results, each invocation a tile of it, whose operands come from copies in shared memory
// (passes/kernel/shared_tiles). The block is the one of least estimated time by the target's numbers.
#pragma once
#include "compiler/schedule/tile_axes.h"

namespace hearth::schedule {

// No opts where the target has no shared memory for any block, or the kernel no use for it.
TimedOpts tile_of_workgroup(const KernelFacts& facts, const TileAxes& axes, const target::Target& target);

// All that are possible.
std::vector<TimedOpts> tiles_of_workgroup(const KernelFacts& facts, const TileAxes& axes, const target::Target& target);

}  // namespace hearth::schedule
