// Metrics: the daemon's counters. A Prepare or CompileBlob is counted three times, each at its own place: when it
// arrives, when its answer is known, and when the call is gone. So requests = plan_hits + plan_misses + plan_joined +
// plan_errors whenever requests_in_flight is 0 (and the same of blobs), unless a call was lost or counted twice.
// Thread-safe; one lock, so that a snapshot is of one instant. Example:
//   const Metrics::Call call = metrics.arrived(RequestKind::kPrepare);   // until the call is gone
//   metrics.count(PrepareOutcome::kHit, took);
//   Counters now = metrics.snapshot();
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <utility>

#include "daemon/histogram.h"

namespace hearth::daemon {

// How a Prepare was answered: plan found; compiled for this caller; shared another caller's compile; failed (cancelled
// and expired calls included).
enum class PrepareOutcome { kHit, kMiss, kJoined, kError };
// The same of a CompileBlob; a hit found the blob in the cache.
enum class BlobOutcome { kHit, kMiss, kJoined, kError };

enum class RequestKind { kPrepare, kBlob };

// What takes time: answers to Prepare by outcome, jobs' waits for a worker, workers' jobs.
enum class Timed { kPrepareHit, kPrepareMiss, kPrepareJoined, kPrepareError, kQueue, kLower, kCompile, kBlob };
using Histograms = std::array<Histogram, 8>;  // by Timed

struct Counters {
  std::uint64_t requests = 0;
  std::uint64_t requests_in_flight = 0;
  std::uint64_t plan_hits = 0;
  std::uint64_t plan_misses = 0;
  std::uint64_t plan_joined = 0;
  std::uint64_t plan_errors = 0;
  std::uint64_t sealed_misses = 0;  // of these errors
  std::uint64_t kernels_compiled = 0;
  std::uint64_t kernel_hits = 0;
  std::uint64_t kernel_joined = 0;
  std::uint64_t worker_crashes = 0;
  std::uint64_t worker_timeouts = 0;
  std::uint64_t blob_requests = 0;
  std::uint64_t blob_requests_in_flight = 0;
  std::uint64_t blob_hits = 0;
  std::uint64_t blob_misses = 0;
  std::uint64_t blob_joined = 0;
  std::uint64_t blob_errors = 0;
  std::uint64_t blobs_compiled = 0;
};

class Metrics {
 public:
  // A request that has arrived and is not gone.
  class Call {
   public:
    Call(Call&& other) noexcept : metrics_(std::exchange(other.metrics_, nullptr)), in_flight_(other.in_flight_) {}
    Call& operator=(Call&&) = delete;
    ~Call() {
      if (metrics_ != nullptr) metrics_->add(in_flight_, -1);
    }

   private:
    friend class Metrics;
    Call(Metrics* metrics, std::uint64_t Counters::* in_flight) : metrics_(metrics), in_flight_(in_flight) {}
    Metrics* metrics_;
    std::uint64_t Counters::* in_flight_;
  };

  [[nodiscard]] Call arrived(RequestKind kind);
  void count(PrepareOutcome outcome, std::chrono::steady_clock::duration took);
  void count(BlobOutcome outcome);
  void blob_compiled() { add(&Counters::blobs_compiled); }
  void kernel_compiled() { add(&Counters::kernels_compiled); }
  void kernel_hit() { add(&Counters::kernel_hits); }
  void kernel_joined() { add(&Counters::kernel_joined); }
  void worker_crashed() { add(&Counters::worker_crashes); }
  void worker_timed_out() { add(&Counters::worker_timeouts); }
  void sealed_miss() { add(&Counters::sealed_misses); }
  void took(Timed what, std::chrono::steady_clock::duration time) {
    std::lock_guard lock(mutex_);
    histograms_[static_cast<std::size_t>(what)].add(time);
  }

  Counters snapshot() const {
    std::lock_guard lock(mutex_);
    return counters_;
  }
  Histograms histograms() const {
    std::lock_guard lock(mutex_);
    return histograms_;
  }

 private:
  void add(std::uint64_t Counters::* counter, int by = 1) {
    std::lock_guard lock(mutex_);
    counters_.*counter += static_cast<std::uint64_t>(by);
  }

  mutable std::mutex mutex_;
  Counters counters_;
  Histograms histograms_;
};

}  // namespace hearth::daemon
