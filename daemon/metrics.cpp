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

void Metrics::count(BlobOutcome outcome) {
  std::lock_guard lock(mutex_);
  ++counters_.blob_requests;
  switch (outcome) {
    case BlobOutcome::kHit:
      ++counters_.blob_hits;
      break;
    case BlobOutcome::kMiss:
      ++counters_.blob_misses;
      break;
    case BlobOutcome::kJoined:
      ++counters_.blob_joined;
      break;
    case BlobOutcome::kError:
      ++counters_.blob_errors;
      break;
  }
}

}  // namespace hearth::daemon
