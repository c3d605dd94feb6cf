#include "compiler/schedule/scheduler.h"

#include "base/registry.h"
#include "compiler/schedule/schedulers.h"

namespace hearth::schedule {

namespace {

Registry<Scheduler>& registry() {
  static Registry<Scheduler>& all = *new Registry<Scheduler>;
  return all;
}

}  // namespace

const Scheduler& scheduler_for(const target::Target& target) {
  if (const Scheduler* const registered = registry().find(target.device())) return *registered;
  if (target.unit() == target::Unit::Invocation) return invocation_scheduler();
  return cpu_scheduler();
}

void register_scheduler(std::string_view device, const Scheduler& scheduler) { registry().add(device, scheduler); }

}  // namespace hearth::schedule
