// WorkerPool: compiles by handing jobs to hearth-worker processes, one thread and at most one process a slot.
//
// Workers are started when first needed (or warm()), leave after the idle limit, and are replaced when they crash, hang
// or outgrow their limits; the job then ends with one typed error, nothing else suffers. A worker does jobs of one user
// only. Some workers give a job that lasts back to the queue while others wait (compile_queue.h). Owns threads and processes; the destructor cancels what runs. Thread-safe. `done` is called exactly once for every
// accepted job, on a pool thread or the one that cancels. Example:
//
//   WorkerPool pool(options, &poison, &metrics);
//   absl::StatusOr<std::uint64_t> job =
//       pool.submit({.request = request, .key = key, .what = "graph", .done = on_reply});
//   if (caller_left) pool.cancel(*job);
#pragma once
#include <absl/status/statusor.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "daemon/metrics.h"
#include "daemon/worker_pool/compile_queue.h"
#include "daemon/worker_pool/poison_list.h"
#include "daemon/worker_pool/worker_process.h"

namespace hearth::daemon {

struct WorkerPoolOptions {
  WorkerCommand command;
  unsigned num_workers = 1;
  unsigned num_spare = 0;         // beside them, for clients that all workers keep waiting
  bool one_job_a_worker = false;  // no worker outlives its job: what the job has left behind meets no other
  std::size_t max_queued_lowerings = 256;
  std::chrono::milliseconds idle_limit{60'000};
  const Clock* clock = &Clock::machine();  // of this limit, of the workers' and of the queue's
  // The daemon's settings that bound a job's time and memory: the remedy of a job that met one of them.
  std::string time_setting = "compile_limit_s", memory_setting = "worker_memory";
  // Told how a start of a worker went and when it began; gives back what callers are told. On pool threads; may be
  // null.
  std::function<absl::Status(absl::Status, Clock::time_point began)> on_start = nullptr;
};

// The payload of a RESOURCE_EXHAUSTED status that says when to try again, in decimal milliseconds.
inline constexpr char kRetryAfterMsPayload[] = "hearth.dev/retry-after-ms";

class WorkerPool {
 public:
  WorkerPool(WorkerPoolOptions options, PoisonList* poison, Metrics* metrics);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // The job's id; FAILED_PRECONDITION for a refused key; RESOURCE_EXHAUSTED with kRetryAfterMsPayload when full.
  // On error `done` is not called.
  absl::StatusOr<std::uint64_t> submit(CompileJob job);
  // Ends the job with CANCELLED unless it is done; kills the worker that runs it.
  void cancel(std::uint64_t id);
  // `client` waits for this job, too: as long as it waits, it is taken at the first of its clients' turns.
  void share(std::uint64_t id, const ClientId& client) { queue_.share(id, client); }
  // Starts up to `num_workers` workers ahead of need, without waiting for them.
  void warm(unsigned num_workers);

  unsigned num_live_workers() const { return live_workers_.load(); }
  std::size_t num_queued() const { return queue_.size(); }
  std::vector<pid_t> worker_pids() const;
  const WorkerCommand& command() const { return options_.command; }

 private:
  struct Slot {
    int wake_fd = -1;
    WorkerRole role = WorkerRole::kRegular;
    uid_t uid = static_cast<uid_t>(-1);  // whose jobs its worker has done
    std::uint64_t job = 0;               // guarded by mutex_
    pid_t pid = -1;                      // guarded by mutex_
    bool warm = false;                   // guarded by mutex_
    std::unique_ptr<WorkerProcess> worker;
    std::thread thread;
  };

  void run(Slot& slot);
  void idle(Slot& slot, Clock::time_point idle_since);
  bool take_warm_request(Slot& slot);
  // One that may do this job; the slot's is replaced when it may not.
  absl::Status ensure_worker(Slot& slot, const CompileJob& job);
  absl::Status start_worker(Slot& slot, const std::vector<ReadableTree>& trees);
  void drop_worker(Slot& slot);
  // `has_yielded`: the job is not done, others needed the worker.
  absl::StatusOr<v1::WorkerReply> perform(Slot& slot, const CompileJob& job, bool* has_yielded);
  void put_back(Slot& slot, CompileJob job, std::chrono::nanoseconds took);
  absl::Status describe_failure(const CompileJob& job, const Exchange& exchange);
  // False when the job was cancelled in the meantime.
  bool begin_job(Slot& slot, std::uint64_t id);
  void end_job(Slot& slot, std::uint64_t id, std::chrono::nanoseconds took);
  std::uint64_t retry_after_ms() const;

  const WorkerPoolOptions options_;
  PoisonList* const poison_;
  Metrics* const metrics_;
  CompileQueue queue_;
  std::atomic<bool> stopping_{false};
  std::atomic<unsigned> live_workers_{0};
  std::atomic<std::uint64_t> mean_job_ns_{100'000'000};
  mutable std::mutex mutex_;
  std::uint64_t last_id_ = 0;
  std::set<std::uint64_t> active_;     // accepted and not ended
  std::set<std::uint64_t> cancelled_;  // of these, to be ended before they start
  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace hearth::daemon
