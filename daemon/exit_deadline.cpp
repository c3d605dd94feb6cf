#include "daemon/exit_deadline.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

namespace hearth::daemon {

ExitDeadline::ExitDeadline(std::chrono::milliseconds time)
    : thread_([this, time] {
        std::unique_lock lock(mutex_);
        if (changed_.wait_for(lock, time, [this] { return met_; })) return;
        spdlog::error("did not end within {} ms: exiting all the same", time.count());
        ::_exit(1);
      }) {}

ExitDeadline::~ExitDeadline() {
  {
    std::lock_guard lock(mutex_);
    met_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

}  // namespace hearth::daemon
