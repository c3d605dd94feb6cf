// Executor: a few threads that run short tasks (cache look-ups, publishing, replies): those of one client in the order
// posted, those of several in turns; what belongs to no client has turns like one.
//
// Owns its threads; stop() or destruction runs what is queued, then joins. Thread-safe. Tasks must not throw and must
// not wait for other tasks. Example:
//   Executor executor(4);
//   executor.post([build] { build->publish(); });
//   executor.post_for(client, [call] { call->read_source(); });   // work whose amount the client chooses
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/client_id.h"

namespace hearth::daemon {

class Executor {
 public:
  explicit Executor(unsigned num_threads);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // After stop() a task runs on the caller's thread, so that nothing is ever lost.
  void post(std::function<void()> task) { post_for({}, std::move(task)); }
  void post_for(const ClientId& client, std::function<void()> task);
  void stop();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<ClientId, std::deque<std::function<void()>>> tasks_;  // none is empty
  std::deque<ClientId> turns_;                                   // of those, each once
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace hearth::daemon
