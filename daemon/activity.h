// Activity: how many calls and sessions are open and since when there are none; tells idle exit and drain.
// Thread-safe; must outlive its tokens. Example:
//   Activity::Token token = activity.begin();
//   if (activity.idle_for() > std::chrono::seconds(60)) shut_down();
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>

#include "base/clock.h"

namespace hearth::daemon {

class Activity {
 public:
  class Token {
   public:
    explicit Token(Activity* activity) : activity_(activity) {}
    Token(Token&& other) noexcept : activity_(std::exchange(other.activity_, nullptr)) {}
    Token& operator=(Token&&) = delete;
    ~Token() {
      if (activity_ != nullptr) activity_->end();
    }

   private:
    Activity* activity_;
  };

  explicit Activity(const Clock& clock = Clock::machine()) : clock_(clock) {}

  Token begin() {
    std::lock_guard lock(mutex_);
    ++count_;
    return Token(this);
  }

  // Zero while anything is open.
  Clock::duration idle_for() const {
    std::lock_guard lock(mutex_);
    return count_ > 0 ? Clock::duration::zero() : clock_.now() - idle_since_;
  }

  // Waits until nothing is open; false after `timeout`.
  bool wait_until_idle(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, timeout, [this] { return count_ == 0; });
  }

 private:
  void end() {
    std::lock_guard lock(mutex_);
    if (--count_ > 0) return;
    idle_since_ = clock_.now();
    changed_.notify_all();
  }

  const Clock& clock_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t count_ = 0;
  Clock::time_point idle_since_ = clock_.now();
};

}  // namespace hearth::daemon
