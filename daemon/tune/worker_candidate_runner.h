// WorkerCandidateRunner: the CandidateRunner that has workers do it: one job a candidate, so that one that crashes its
// worker loses only itself. Used by one thread, which waits; cancel() may come from any. Borrows the pool.
//
//   WorkerCandidateRunner bench(pool, client, target, options);
//   SearchResult found = search(kernel, bench, {});
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <set>
#include <string>

#include "base/clock.h"
#include "daemon/tune/tune_search.h"
#include "daemon/worker_pool/worker_pool.h"

namespace hearth::daemon {

class WorkerCandidateRunner : public CandidateRunner {
 public:
  WorkerCandidateRunner(WorkerPool* pool, const ClientId& client, v1::Target target, v1::CompileOptions options)
      : pool_(pool), client_(client), target_(std::move(target)), options_(std::move(options)) {}

  // When the search ends; none before the first call. `turn_is_over` ends it too, to be gone on with.
  void set_deadline(Clock::time_point deadline) { deadline_ = deadline; }
  void set_turn(std::function<bool()> turn_is_over) { turn_is_over_ = std::move(turn_is_over); }
  bool is_past_deadline() const { return cancelled() || Clock::machine().now() >= deadline_; }
  // Ends what runs with CANCELLED, and everything after it.
  virtual void cancel();
  bool cancelled() const;

  // Any other job, e.g. lowering.
  absl::StatusOr<v1::WorkerReply> perform(v1::WorkerRequest request, const std::string& what);

  std::vector<absl::StatusOr<v1::Candidate>> compile(std::span<const v1::CandidateSpec> specs) override;
  absl::StatusOr<v1::Neighbours> neighbours(const v1::NeighboursSpec& spec) override;
  absl::StatusOr<v1::Timing> time(const v1::TimeSpec& spec) override;
  bool is_over() const override { return is_past_deadline() || (turn_is_over_ && turn_is_over_()); }

 private:
  struct Work {
    v1::WorkerRequest request;
    std::string what;
  };
  std::vector<absl::StatusOr<v1::WorkerReply>> perform_all(std::vector<Work> work);

  WorkerPool* const pool_;
  const ClientId client_;
  const v1::Target target_;
  const v1::CompileOptions options_;
  Clock::time_point deadline_ = Clock::time_point::max();
  std::function<bool()> turn_is_over_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::uint64_t> jobs_;  // submitted and not ended
  bool cancelled_ = false;
};

}  // namespace hearth::daemon
