// WorkgroupReduction: a kernel of one store whose workgroups compute blocks of results, and its only reduction, with one
// of its axes as a loop over tiles. Used by shared_tiles and matrix_tiles.
//
//   std::optional<WorkgroupReduction> found = divided_reduction(axes, kernel, axis, amount);
#pragma once
#include <optional>

#include "compiler/passes/kernel/operand_copies.h"

namespace hearth::passes {

struct WorkgroupReduction {
  ir::UOpRef reduce = nullptr;   // as it stands in the kernel
  ir::UOpRef divided = nullptr;  // what may take its place: over tiles, and over `within` in a tile
  ir::UOpRef within = nullptr;   // along the axis, in a tile; null: a tile has one element of it
  OperandCopies::Tile tile;
};

// Elements beyond the axis' end add nothing: loads there give zero; unless that `adds_nothing`, what is made of them is
// left out where it is no product, and tiles are no longer than the axis. Nothing where the kernel is another one.
std::optional<WorkgroupReduction> divided_reduction(FreshAxes& axes, ir::UOpRef kernel, std::uint32_t axis,
                                                    std::int64_t amount, bool adds_nothing);

}  // namespace hearth::passes
