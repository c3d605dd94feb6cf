// matrix_tile: what a workgroup computes of a product of f16 or bf16 by the target's matrix unit
// (passes/kernel/matrix_tiles): subgroups by rows and columns, each with some of the unit's matrices. The block is the one
// of least estimated time by the target's numbers.
#pragma once
#include "compiler/schedule/tile_axes.h"

namespace hearth::schedule {

// No opts where the target has no such unit, or the kernel no use for it.
TimedOpts tile_of_matrix_unit(const KernelFacts& facts, const TileAxes& axes, const target::Target& target);

// All that are possible.
std::vector<TimedOpts> tiles_of_matrix_unit(const KernelFacts& facts, const TileAxes& axes,
                                            const target::Target& target);

}  // namespace hearth::schedule
