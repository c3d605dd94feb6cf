// Executor: a few threads that run short tasks (cache look-ups, publishing, replies) in the order posted.
//
// Owns its threads; stop() or destruction runs what is queued, then joins. Thread-safe. Tasks must not throw and must
// not wait for other tasks. Example:
//   Executor executor(4);
//   executor.post([build] { build->publish(); });
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace hearth::daemon {

class Executor {
 public:
  explicit Executor(unsigned num_threads);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // After stop() a task runs on the caller's thread, so that nothing is ever lost.
  void post(std::function<void()> task);
  void stop();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace hearth::daemon
