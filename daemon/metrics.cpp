#include "daemon/metrics.h"

namespace hearth::daemon {

Metrics::Call Metrics::arrived(RequestKind kind) {
  const bool blob = kind == RequestKind::kBlob;
  std::uint64_t Counters::* const in_flight = blob ? &Counters::blob_requests_in_flight : &Counters::requests_in_flight;
  std::lock_guard lock(mutex_);
  ++(counters_.*(blob ? &Counters::blob_requests : &Counters::requests));
  ++(counters_.*in_flight);
  return Call(this, in_flight);
}

void Metrics::count(PrepareOutcome outcome, std::chrono::steady_clock::duration time) {
  constexpr Timed kTimed[] = {Timed::kPrepareHit, Timed::kPrepareMiss, Timed::kPrepareJoined, Timed::kPrepareError};
  took(kTimed[static_cast<std::size_t>(outcome)], time);
  std::lock_guard lock(mutex_);
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
