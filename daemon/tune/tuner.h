// Tuner: what Tune means, without gRPC: lower the graph, search for better opts for the kernels that have most of its
// work (daemon/tune/tune_search), write a tuning record for each that was found.
//
// One run at a time, on a thread of its own: two would time each other's noise. Up to kMaxWaitingRuns wait in line, of
// one client half of them. While another client waits a run has its turn, then it goes on behind the others; its
// budget is of its own turns. Compiling and timing happen in workers, behind everybody else's work. Callbacks come on
// the tuner's thread, `done` exactly once unless the request is refused, then before tune() returns. Thread-safe.
// Errors: Preparer's; UNIMPLEMENTED for devices that no worker has, unless the caller times; RESOURCE_EXHAUSTED when the line is full; UNAVAILABLE
// after stop(). Example:
//   auto job = tuner.tune(request, {.client = client, .done = on_done, .progress = on_progress});
//   job->cancel();   // the caller hung up
#pragma once
#include <absl/status/statusor.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "daemon/prepare/preparer.h"
#include "hearth/v1/compiler_service.pb.h"

namespace hearth::daemon {

class Tuner {
 public:
  static constexpr std::size_t kMaxWaitingRuns = 32;  // each holds its graph

  struct Caller {
    ClientId client;
    std::function<void(absl::StatusOr<v1::TuneResult>)> done;
    std::function<void(const v1::TuneProgress&)> progress;  // may be null
    // A request with caller_times is timed by this: answer() is to get what comes of it. May be null.
    std::function<void(const v1::TimingTask&)> time = {};
  };
  class Job {
   public:
    virtual ~Job() = default;
    virtual void cancel() = 0;
  };

  // `clock`: of the turns.
  Tuner(const Preparer* preparer, unsigned num_workers, std::chrono::milliseconds turn,
        const Clock& clock = Clock::machine());
  ~Tuner() { stop(); }
  Tuner(const Tuner&) = delete;
  Tuner& operator=(const Tuner&) = delete;

  // Null when the request was refused.
  std::shared_ptr<Job> tune(const v1::TuneRequest& request, Caller caller);
  // The answer of the run whose turn it is. NOT_FOUND where it waits for none of this id.
  absl::Status answer(const v1::TimingAnswer& answer);
  // Cancels all runs and accepts no more.
  void stop();

 private:
  class Run;
  void work();
  bool is_awaited_by_others(const ClientId& client);

  const Preparer* const preparer_;
  const unsigned num_workers_;
  const std::chrono::milliseconds turn_;
  const Clock& clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Run>> waiting_;
  std::shared_ptr<Run> current_;
  bool stopping_ = false;
  std::thread thread_;  // started with the first run
};

}  // namespace hearth::daemon
