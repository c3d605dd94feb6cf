#include "compiler/schedule/scheduler.h"

#include "compiler/schedule/schedulers.h"

namespace hearth::schedule {

const Scheduler& scheduler_for(const target::Target& target) {
  if (target.unit() == target::Unit::Invocation) return invocation_scheduler();
  return cpu_scheduler();
}

}  // namespace hearth::schedule
