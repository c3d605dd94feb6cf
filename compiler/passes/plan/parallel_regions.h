// parallel_regions: launches that one fork runs. A thread that has units u .. v of a region's grid runs all of its
// launches for them, in order, before it looks at other units: no other thread is waited for in between, and what a
// launch made is still in the core's cache when the next one reads it. (OpenMP's parallel regions with `nowait`
// loops.) Most launches of a small net are too short to be divided one by one.
//
// Neighbours join when they have one grid and each buffer that one of them stores to is touched by all of them unit by
// unit: unit u keeps to elements u * n .. (u + 1) * n (passes/kernel/slot_access). What is read only may be read
// anywhere.
#pragma once
#include "compiler/passes/kernel/schedule.h"
#include "compiler/target/target.h"

namespace hearth::passes {

// The regions of a schedule that has all its launches, in the order of the launches, each within one loop or none.
// None for a target of one thread.
std::vector<PlannedRegion> parallel_regions(const Schedule& schedule, const target::Target& target);

}  // namespace hearth::passes
