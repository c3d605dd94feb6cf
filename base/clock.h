// Clock: the time by which limits, deadlines and retries go. The machine's, or one that a test turns
// (tests/support/manual_clock.h). Thread-safe.
//
//   options.clock = &Clock::machine();
//   const Clock::time_point give_up = clock.now() + limit;
//   while (!ended && clock.now() < give_up) clock.wait_until(changed, lock, give_up);
#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace hearth {

class Clock {
 public:
  using duration = std::chrono::steady_clock::duration;
  using time_point = std::chrono::steady_clock::time_point;

  Clock() = default;
  virtual ~Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  virtual time_point now() const { return std::chrono::steady_clock::now(); }
  // Until `changed` is notified or the time has come; or for no reason, so that who calls it looks again.
  virtual void wait_until(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, time_point time) const {
    changed.wait_until(lock, time);
  }

  static const Clock& machine() {
    static const Clock clock;
    return clock;
  }
};

}  // namespace hearth
