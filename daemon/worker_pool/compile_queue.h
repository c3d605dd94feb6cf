// CompileQueue: bounded work for the worker pool, in three lanes, in which clients take turns.
//
// One client's kernels go before its lowerings, so started plans end before new ones begin; only the lowering lane is
// bounded, since a plan was admitted there, and one client has at most half of it. Of a pool for blobs: questions about
// the compiler go first, blobs are what is bounded. Between clients it goes round: one job of each, however many one of
// them has waiting; a job that several clients wait for goes at the first of their turns. The tuner's work goes last:
// whoever waits for a plan does not wait for it.
//
// Jobs of a minute must not hold every worker. A spare worker, which is there for clients that all workers keep waiting,
// takes only work of clients that have none running and have waited for kSpareAfter, first of the one that workers have
// worked least for of late, whose next job it then takes at once. It and the reserved ones (both together at least a quarter of all) give a job of more than
// kSlice back while such a client waits (others_wait); from then on only other workers take it.
//
// Owns queued jobs; a job's `done` is the holder's duty (queue, then pool). Thread-safe. push() answers
// RESOURCE_EXHAUSTED when the lowering lane is full. Example:
//   absl::Status status = queue.push(std::move(job));
//   std::optional<CompileJob> job = queue.pop(std::chrono::seconds(60));
//   queue.ended(job->turn, took);
#pragma once
#include <absl/status/statusor.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
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
  ClientId client;       // who asked for it
  v1::WorkerRequest request;
  Digest key{};                     // of what it is made of and its request does not hold, such as files' contents
  std::string what;                 // for errors, e.g. "kernel 'sum_4'"
  std::vector<ReadableTree> trees;  // files and folders that its worker must be allowed to read
  std::function<void(absl::StatusOr<v1::WorkerReply>)> done;
  std::function<void()> started;  // called when a worker takes it; may be null
  Digest digest{};                // of all that reaches the worker; set by the pool
  std::vector<ClientId> others;   // who waits for it beside `client`; set by share()
  ClientId turn;                  // whose turn it took; set by pop()
  bool is_long = false;           // was given back: not for workers that are there for short ones
  Clock::time_point queued_at{};  // set by push()
};

enum class WorkerRole {
  kRegular,
  kReserved,  // takes any job, and gives it back where it lasts while others wait
  kSpare,
};

class CompileQueue {
 public:
  static constexpr std::chrono::milliseconds kSpareAfter{250};
  // A worker that is there for others keeps a job this long: a small plan's lowering takes a tenth of it.
  static constexpr std::chrono::milliseconds kSlice{500};
  // Whose job a spare worker has ended is served by it at once for a while, and others only after a moment: a plan's
  // kernels come right after its lowering.
  static constexpr std::chrono::milliseconds kGoesOn{100}, kMoment{20};

  static constexpr std::size_t kMaxAssembles = 4'096;  // of one client; a plan's kernels become cubins as they are made

  explicit CompileQueue(std::size_t max_lowerings, const Clock& clock = Clock::machine())
      : max_lowerings_(max_lowerings), clock_(clock) {}

  // Takes the job only when OK. UNAVAILABLE after close().
  absl::Status push(CompileJob& job);
  // `client` waits for this job, too: if it still waits it also stands in that client's line, at its end.
  void share(std::uint64_t id, const ClientId& client);
  // The next job; nothing after `timeout` or close() or wake().
  std::optional<CompileJob> pop(std::chrono::milliseconds timeout, WorkerRole role = WorkerRole::kRegular);
  // A job that was popped in this client's turn is done; a worker of this role worked this long for it.
  void ended(const ClientId& client, Clock::duration took = {}, WorkerRole role = WorkerRole::kRegular);
  // A job that was popped and has not ended: it goes to the front of its lines.
  void put_back(CompileJob job);
  // True when some client but `than` has no job running and one that has waited for kSpareAfter.
  bool others_wait(const ClientId& than) const;
  // Takes a job out that was not popped yet.
  std::optional<CompileJob> remove(std::uint64_t id);
  // Lets every waiting pop() return once.
  void wake();
  void close();

  std::size_t size() const;

 private:
  // A job in a client's line, since when.
  struct Place {
    std::shared_ptr<CompileJob> job;
    Clock::time_point since;
  };
  using Lane = std::deque<Place>;
  struct Client {
    Lane kernels, lowerings, tuning;
    std::size_t running = 0;

    bool waits() const { return !kernels.empty() || !lowerings.empty(); }
    // What a worker of this role would take of the urgent lanes; null: nothing.
    const Place* first_for(WorkerRole role) const;
  };
  // What workers did for a client, halved every kHalfLife.
  struct Usage {
    double seconds = 0;
    Clock::time_point at;
  };
  using Turns = std::deque<ClientId>;

  static Lane& lane_of(Client& client, const v1::WorkerRequest& request);
  std::optional<CompileJob> next(WorkerRole role);
  // Both by value: what they are copies of may be a place that is withdrawn.
  CompileJob take(ClientId turn, std::shared_ptr<CompileJob> job);
  // Out of every line.
  void withdraw(const std::shared_ptr<CompileJob>& job);
  std::shared_ptr<CompileJob> find(std::uint64_t id) const;
  // A place that a spare worker may take now; null: none.
  const Place* due_for_spare(const ClientId& id, Clock::time_point now) const;
  // When a spare worker has something to do at the earliest.
  Clock::time_point spare_due() const;
  std::optional<CompileJob> next_for_spare();
  void update_turns(const ClientId& id);
  double used_by(const ClientId& id, Clock::time_point now) const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<ClientId, Client> clients_;  // with jobs that wait or run
  std::map<ClientId, Usage> usage_;
  ClientId going_on_;  // whose job a spare worker ended last, and when
  Clock::time_point going_on_since_ = Clock::time_point::min();
  Turns turns_, tuning_turns_;  // of those with jobs that wait, each once
  std::size_t num_lowerings_ = 0;
  std::size_t size_ = 0;
  const std::size_t max_lowerings_;
  const Clock& clock_;
  std::uint64_t wakes_ = 0;
  bool closed_ = false;
};

}  // namespace hearth::daemon
