// launch_levels: launches in the order of their depth in the graph, for devices that run several at the same time. A
// launch's level is one more than the highest of those that it has to wait for: those that store what it reads or stores,
// or read what it stores. Launches of a level wait for one another nowhere, and their values have memory of their own, so
// that a device waits once a level (runtime/hal/barriers).
#pragma once
#include "compiler/passes/kernel/schedule.h"

namespace hearth::passes {

// Sets Schedule::levels. A loop's launches stay together, and are one level's.
void order_by_levels(Schedule& schedule);

}  // namespace hearth::passes
