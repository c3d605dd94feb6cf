// AnswerTimes: how long a remote's answers took of late, and what follows for who waits: the head start that a look-up
// has before local work begins, too, and when a second server is asked. Thread-safe.
//
//   times.add(took);
//   start_local_work_after(times.head_start());
#pragma once
#include <algorithm>
#include <array>
#include <chrono>
#include <mutex>
#include <vector>

namespace hearth::daemon {

class AnswerTimes {
 public:
  using Duration = std::chrono::steady_clock::duration;
  // Less than the first and local work is begun in vain where an answer is under way; more than the last and a slow
  // remote is felt. A whole model takes 1 to 6 ms of a healthy one.
  static constexpr std::chrono::milliseconds kLeastHeadStart{20}, kMostHeadStart{200};

  void add(Duration took) {
    const std::lock_guard lock(mutex_);
    times_[next_++ % times_.size()] = took;
  }

  // Twice the 95th percentile; the most while little is known.
  Duration head_start() const { return std::clamp<Duration>(2 * percentile(), kLeastHeadStart, kMostHeadStart); }
  // The 95th percentile; half of the longest head start while little is known, and at most.
  Duration usual() const { return std::min<Duration>(percentile(), kMostHeadStart / 2); }

 private:
  static constexpr std::size_t kFewest = 4;

  Duration percentile() const {
    const std::lock_guard lock(mutex_);
    const std::size_t count = std::min(next_, times_.size());
    if (count < kFewest) return kMostHeadStart;
    std::vector<Duration> sorted(times_.begin(), times_.begin() + static_cast<std::ptrdiff_t>(count));
    std::ranges::sort(sorted);
    return sorted[(count * 95 + 99) / 100 - 1];
  }

  mutable std::mutex mutex_;
  std::array<Duration, 128> times_{};
  std::size_t next_ = 0;  // of all that were added
};

}  // namespace hearth::daemon
