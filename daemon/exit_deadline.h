// ExitDeadline: ends this process, with a line in the log and exit code 1, unless it is destroyed within its time: for
// the end of a daemon, which must come, whatever hangs: its successor waits for the cache. Locks of files go with the
// process, workers notice that it is gone. Example:
//   ExitDeadline deadline(std::chrono::seconds(34));
//   daemon->drain();
#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace hearth::daemon {

class ExitDeadline {
 public:
  explicit ExitDeadline(std::chrono::milliseconds time);
  ~ExitDeadline();
  ExitDeadline(const ExitDeadline&) = delete;
  ExitDeadline& operator=(const ExitDeadline&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool met_ = false;
  std::thread thread_;
};

}  // namespace hearth::daemon
