// CompileQueue: bounded first-in-first-out work for the worker pool, in three lanes.
//
// Kernels go before lowerings, so started plans finish before new ones begin; only the lowering lane is bounded, since
// a plan was admitted there. Of a pool for blobs: questions about the compiler go first, blobs are what is bounded. The
// tuner's work goes last: whoever waits for a plan does not wait for it. Owns queued jobs; a job's `done` is the
// holder's duty (queue, then pool). Thread-safe. push() answers RESOURCE_EXHAUSTED when the lowering lane is full.
// Example:
//   absl::Status status = queue.push(std::move(job));
//   std::optional<CompileJob> job = queue.pop(std::chrono::seconds(60));
#pragma once
#include <absl/status/statusor.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/sha256.h"
#include "hearth/v1/worker.pb.h"

namespace hearth::daemon {

struct CompileJob {
  std::uint64_t id = 0;  // set by the pool
  v1::WorkerRequest request;
  Digest key{};                    // what it is refused by when it keeps killing workers
  std::string what;                // for errors, e.g. "kernel 'sum_4'"
  std::vector<std::string> reads;  // files and folders that its worker must be allowed to read
  std::function<void(absl::StatusOr<v1::WorkerReply>)> done;
  std::function<void()> started;  // called when a worker takes it; may be null
};

class CompileQueue {
 public:
  explicit CompileQueue(std::size_t max_lowerings) : max_lowerings_(max_lowerings) {}

  // Takes the job only when OK. UNAVAILABLE after close().
  absl::Status push(CompileJob& job);
  // The next job; nothing after `timeout` or close() or wake().
  std::optional<CompileJob> pop(std::chrono::milliseconds timeout);
  // Takes a job out that was not popped yet.
  std::optional<CompileJob> remove(std::uint64_t id);
  // Lets every waiting pop() return once.
  void wake();
  void close();

  std::size_t size() const;

 private:
  std::deque<CompileJob>& lane_of(const v1::WorkerRequest& request);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<CompileJob> kernels_;
  std::deque<CompileJob> lowerings_;
  std::deque<CompileJob> tuning_;
  const std::size_t max_lowerings_;
  std::uint64_t wakes_ = 0;
  bool closed_ = false;
};

}  // namespace hearth::daemon
