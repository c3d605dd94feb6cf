// HedgeBudget: how many calls are made twice, to a second server too, since the first one is slow. A few end the stalls;
// many double the load of servers that are slow because they have too much of it. Source: Dean and Barroso, The Tail at
// Scale (2013). Thread-safe.
//
//   budget.count_call();                      // each call
//   if (budget.takes_hedge()) ask_the_second_server();
#pragma once
#include <cstdint>
#include <mutex>

namespace hearth::daemon {

class HedgeBudget {
 public:
  static constexpr std::uint64_t kCallsAHedge = 20;  // 5 %

  void count_call() {
    const std::lock_guard lock(mutex_);
    ++calls_;
  }
  // True where one more is within the budget; it is taken.
  bool takes_hedge() {
    const std::lock_guard lock(mutex_);
    if ((hedges_ + 1) * kCallsAHedge > calls_) return false;
    ++hedges_;
    return true;
  }
  std::uint64_t hedges() const {
    const std::lock_guard lock(mutex_);
    return hedges_;
  }

 private:
  mutable std::mutex mutex_;
  std::uint64_t calls_ = 0, hedges_ = 0;
};

}  // namespace hearth::daemon
