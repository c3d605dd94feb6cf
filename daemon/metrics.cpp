#include "daemon/metrics.h"

namespace hearth::daemon {

void Metrics::count(PrepareOutcome outcome) {
  std::lock_guard lock(mutex_);
  ++counters_.requests;
  switch (outcome) {
    case PrepareOutcome::kHit:
      ++counters_.plan_hits;
      break;
    case PrepareOutcome::kMiss:
      ++counters_.plan_misses;
      break;
    case PrepareOutcome::kJoined:
      ++counters_.plan_joined;
      break;
    case PrepareOutcome::kError:
      ++counters_.plan_errors;
      break;
  }
}

}  // namespace hearth::daemon
