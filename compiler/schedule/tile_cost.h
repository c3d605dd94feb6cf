// tile_cost: estimated cycles of a register tile, rows x columns vectors of independent sums, on the core of
// target/core_model.h. Pure functions.
#pragma once
#include <cstdint>

#include "compiler/target/target.h"

namespace hearth::schedule {

// Larger tiles make LLVM spill.
constexpr int kMaxRows = 8, kMaxColumns = 4, kMaxColumnsOfOneRow = 8;

// Cycles of one element of the reduction. Gates: how many of the operands along rows and columns are read under a
// condition.
double tile_cycles(std::int64_t rows, std::int64_t columns, double row_gates, double column_gates);

// Cycles of one element of the reduction for n results along vectors times m along rows, in the best tiles for f32.
double plane_cycles(const target::Target& target, std::int64_t n, std::int64_t m, double row_gates);

}  // namespace hearth::schedule
