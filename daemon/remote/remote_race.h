// RemoteRace: a look-up beyond the node against the same work done here. The look-up has a head start; then, or once it
// has ended without a hit, the work begins. Who is first wins, and the other is cancelled. Source: how Bazel races its
// local and remote execution. Thread-safe; no callback is called with a lock held.
//
//   auto race = std::make_shared<RemoteRace>(RemoteRace::Runner{
//       .ask = [=](auto ended) { return tier.find_plan(…, ended); },
//       .work = [=](RemoteRace::Reason reason) { self->lower(); },
//       .post = [=](auto task) { executor->post(std::move(task)); }});
//   race->begin(remote.head_start());
//   race->finish();     // the work is done, or nobody wants it any more
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "daemon/remote/remote_timer.h"
#include "daemon/remote/result_fetch.h"

namespace hearth::daemon {

class RemoteRace : public std::enable_shared_from_this<RemoteRace> {
 public:
  // Why the work is done here.
  enum class Reason {
    kMissing,      // the server has answered in time, and has nothing
    kUnusable,     // likewise, and what it has cannot be used: what is made here takes its place
    kNotAnswered,  // it was late or failed: nothing more is asked of it, and nothing sent
  };
  struct Runner {
    // Begins the look-up, which says how it ended; a hit is taken by whoever asks.
    std::function<std::shared_ptr<ResultFetch>(std::function<void(RemoteOutcome)> ended)> ask;
    // Begins the work; called once at most. A look-up that could not be sent yet says nothing of the server: kMissing.
    std::function<void(Reason reason)> work;
    // Runs a task on a thread that may do more than gRPC's.
    std::function<void(std::function<void()>)> post;
  };

  explicit RemoteRace(Runner runner) : runner_(std::move(runner)) {}

  void begin(std::chrono::steady_clock::duration head_start);
  // Cancels the look-up; no work is begun from now on.
  void finish();

 private:
  void ended(RemoteOutcome outcome);
  void head_start_over();
  void work(Reason reason);

  std::mutex mutex_;
  Runner runner_;
  std::shared_ptr<ResultFetch> fetch_;
  std::optional<RemoteTimer> timer_;
  bool works_ = false;     // the work has begun
  bool finished_ = false;  // likewise, or is not wanted
};

}  // namespace hearth::daemon
