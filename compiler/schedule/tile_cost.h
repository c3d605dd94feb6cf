// tile_cost: estimated cycles of a register tile, rows x columns vectors of independent sums, on a core with two
// multiply-adds and two loads a cycle. Pure functions.
#pragma once
#include <cstdint>

#include "compiler/target/target.h"

namespace hearth::schedule {

constexpr double kFmaPerCycle = 2, kLoadsPerCycle = 2, kFmaLatency = 4;
constexpr double kLoopCycles = 0.7;    // of an iteration's own
constexpr double kGatedVector = 0.5;   // share added by a masked load
constexpr double kGateOps = 2;         // of its mask, where multiply-adds are done, too
constexpr double kGatedScalar = 0.1;   // an address chosen beside the arithmetic
constexpr double kScatterCycles = 24;  // of a vector stored to many places
constexpr double kAliasCycles = 200;  // where these are so far apart that their lines take each other's place in caches
constexpr std::int64_t kAliasBytes = 2048;  // distances that are multiples of it
constexpr double kNearBytes = 32 << 10;     // of a panel that stays in L1
constexpr double kFarVectorCycles = 2;      // of one that comes from L2
constexpr double kTransposeCycles = 2;      // to copy one element, gathered
constexpr double kCopyCycles = 0.25;        // to copy one element in its order
// Larger tiles make LLVM spill.
constexpr int kMaxRows = 8, kMaxColumns = 4, kMaxColumnsOfOneRow = 8;

// Of one element of the reduction. Gates: how many of the operands along rows and columns are read under a condition.
double tile_cycles(std::int64_t rows, std::int64_t columns, double row_gates, double column_gates);

// Of one element of the reduction for n results along vectors times m along rows, in the best tiles for f32.
double plane_cycles(const target::Target& target, std::int64_t n, std::int64_t m, double row_gates,
                    double column_gates);

}  // namespace hearth::schedule
