// Metrics: the daemon's counters. One lock, so that a snapshot is exact:
// requests = plan_hits + plan_misses + plan_joined + plan_errors at every instant, and the same of blob_requests.
// Thread-safe. A Prepare or CompileBlob is counted once, when its answer is known. Example:
//   metrics.count(PrepareOutcome::kHit);
//   Counters now = metrics.snapshot();
#pragma once
#include <cstdint>
#include <mutex>

namespace hearth::daemon {

// How a Prepare was answered: plan found; compiled for this caller; shared another caller's compile; failed (cancelled
// and expired calls included).
enum class PrepareOutcome { kHit, kMiss, kJoined, kError };
// The same of a CompileBlob; a hit found the blob in the cache.
enum class BlobOutcome { kHit, kMiss, kJoined, kError };

struct Counters {
  std::uint64_t requests = 0;
  std::uint64_t plan_hits = 0;
  std::uint64_t plan_misses = 0;
  std::uint64_t plan_joined = 0;
  std::uint64_t plan_errors = 0;
  std::uint64_t kernels_compiled = 0;
  std::uint64_t kernel_hits = 0;
  std::uint64_t kernel_joined = 0;
  std::uint64_t worker_crashes = 0;
  std::uint64_t worker_timeouts = 0;
  std::uint64_t blob_requests = 0;
  std::uint64_t blob_hits = 0;
  std::uint64_t blob_misses = 0;
  std::uint64_t blob_joined = 0;
  std::uint64_t blob_errors = 0;
  std::uint64_t blobs_compiled = 0;
};

class Metrics {
 public:
  void count(PrepareOutcome outcome);
  void count(BlobOutcome outcome);
  void blob_compiled() { add(&Counters::blobs_compiled); }
  void kernel_compiled() { add(&Counters::kernels_compiled); }
  void kernel_hit() { add(&Counters::kernel_hits); }
  void kernel_joined() { add(&Counters::kernel_joined); }
  void worker_crashed() { add(&Counters::worker_crashes); }
  void worker_timed_out() { add(&Counters::worker_timeouts); }

  Counters snapshot() const {
    std::lock_guard lock(mutex_);
    return counters_;
  }

 private:
  void add(std::uint64_t Counters::* counter) {
    std::lock_guard lock(mutex_);
    ++(counters_.*counter);
  }

  mutable std::mutex mutex_;
  Counters counters_;
};

}  // namespace hearth::daemon
