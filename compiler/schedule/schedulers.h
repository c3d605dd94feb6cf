// The schedulers there are, for scheduler_for() and for tests.
#pragma once
#include "compiler/schedule/scheduler.h"

namespace hearth::schedule {

// Vectors, register tiles, blocks for threads (heuristic_cpu, search).
const Scheduler& cpu_scheduler();

// For units that are invocations: loops stay as they are, one element an invocation.
const Scheduler& invocation_scheduler();

}  // namespace hearth::schedule
