// ManualClock: a clock that stands still until a test turns it. What waits by it looks every millisecond whether it was
// turned. Thread-safe.
//
//   ManualClock clock;
//   options.clock = &clock;
//   clock.advance(std::chrono::seconds(61));
#pragma once
#include <atomic>

#include "base/clock.h"
#include "tests/support/eventually.h"

namespace hearth::test {

class ManualClock : public Clock {
 public:
  time_point now() const override { return time_point(duration(now_.load())); }
  void wait_until(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
                  time_point time) const override {
    if (now() < time) changed.wait_for(lock, std::chrono::milliseconds(1));
  }
  void advance(duration by) { now_ += by.count(); }

  // Turns the clock, `by` a millisecond of the machine's, until `holds()`; false after give_up().
  template <typename Holds>
  bool advance_until(duration by, const Holds& holds) {
    return eventually([&] {
      if (holds()) return true;
      advance(by);
      return false;
    });
  }

 private:
  // Hours after the clock's beginning, so that times before now can be told.
  std::atomic<duration::rep> now_{std::chrono::duration_cast<duration>(std::chrono::hours(1000)).count()};
};

}  // namespace hearth::test
