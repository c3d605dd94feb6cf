// CompileQueue: bounded work for the worker pool, in three lanes, in which clients take turns.
//
// One client's kernels go before its lowerings, so started plans end before new ones begin; only the lowering lane is
// bounded, since a plan was admitted there, and one client has at most half of it. Of a pool for blobs: questions about
// the compiler go first, blobs are what is bounded. Between clients it goes round: one job of each, however many one of
// them has waiting. The tuner's work goes last: whoever waits for a plan does not wait for it. A spare worker, which is
// there for clients that all workers keep waiting, takes only work of clients that have none running and have waited
// for kSpareAfter.
//
// Owns queued jobs; a job's `done` is the holder's duty (queue, then pool). Thread-safe. push() answers
// RESOURCE_EXHAUSTED when the lowering lane is full. Example:
//   absl::Status status = queue.push(std::move(job));
//   std::optional<CompileJob> job = queue.pop(std::chrono::seconds(60));
//   queue.ended(job->client);
#pragma once
#include <absl/status/statusor.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/sha256.h"
#include "daemon/client_id.h"
#include "daemon/worker_pool/readable_tree.h"
#include "hearth/v1/worker.pb.h"

namespace hearth::daemon {

struct CompileJob {
  std::uint64_t id = 0;  // set by the pool
  ClientId client;       // whose turn it takes
  v1::WorkerRequest request;
  Digest key{};                     // what it is refused by when it keeps killing workers
  std::string what;                 // for errors, e.g. "kernel 'sum_4'"
  std::vector<ReadableTree> trees;  // files and folders that its worker must be allowed to read
  std::function<void(absl::StatusOr<v1::WorkerReply>)> done;
  std::function<void()> started;  // called when a worker takes it; may be null
  Clock::time_point queued_at{};  // set by push()
};

enum class WorkerRole { kRegular, kSpare };

class CompileQueue {
 public:
  static constexpr std::chrono::milliseconds kSpareAfter{250};

  explicit CompileQueue(std::size_t max_lowerings, const Clock& clock = Clock::machine())
      : max_lowerings_(max_lowerings), clock_(clock) {}

  // Takes the job only when OK. UNAVAILABLE after close().
  absl::Status push(CompileJob& job);
  // The next job; nothing after `timeout` or close() or wake().
  std::optional<CompileJob> pop(std::chrono::milliseconds timeout, WorkerRole role = WorkerRole::kRegular);
  // A job of this client that was popped is done.
  void ended(const ClientId& client);
  // Takes a job out that was not popped yet.
  std::optional<CompileJob> remove(std::uint64_t id);
  // Lets every waiting pop() return once.
  void wake();
  void close();

  std::size_t size() const;

 private:
  struct Client {
    std::deque<CompileJob> kernels, lowerings, tuning;
    std::size_t running = 0;

    std::deque<CompileJob>* urgent() { return !kernels.empty() ? &kernels : !lowerings.empty() ? &lowerings : nullptr; }
  };
  using Turns = std::deque<ClientId>;

  static std::deque<CompileJob>& lane_of(Client& client, const v1::WorkerRequest& request);
  std::optional<CompileJob> next(WorkerRole role);
  std::optional<CompileJob> take(Turns& turns, Turns::iterator turn, std::deque<CompileJob>& lane);
  // When a spare worker has something to do at the earliest.
  Clock::time_point spare_due();
  void update_turns(const ClientId& id);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<ClientId, Client> clients_;  // with jobs that wait or run
  Turns turns_, tuning_turns_;          // of those with jobs that wait, each once
  std::size_t num_lowerings_ = 0;
  std::size_t size_ = 0;
  const std::size_t max_lowerings_;
  const Clock& clock_;
  std::uint64_t wakes_ = 0;
  bool closed_ = false;
};

}  // namespace hearth::daemon
