// CompileLeases: which of several nodes compiles a kernel that all of them want and none has. A lease is a result
// without files, under an address of its own, that holds a node's nonce and the time: who finds none writes his, reads
// it back a moment later and, where it is still there, compiles; the others look for the result now and then, and one
// of them takes the lease over where it has stood for two seconds without one. The API has no compare-and-set, so two may
// compile; that
// costs a compile and nothing else. Leases are left behind: one that is older than a minute, by this node's clock, is
// none. Source: the lease of Lampson, How to Build a Highly Available System Using Consensus (1996), section 3.
// Thread-safe. `ended` is called once per lease, with no lock held, on a thread of gRPC's.
//
//   leases.begin(entry, {.look_up = …, .waits = …, .ended = [](bool compiles) { … }});
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "base/clock.h"
#include "daemon/remote/answer_times.h"
#include "daemon/remote/entry_address.h"
#include "daemon/remote/remote_server.h"

namespace hearth::daemon {

class CompileLeases {
 public:
  // How a lease is kept apart from what others wrote at once, and how often who waits looks.
  static constexpr std::chrono::milliseconds kReadBackAfter{10}, kFirstLook{50}, kLastLook{400};
  static constexpr std::chrono::seconds kPatience{2}, kOldAfter{60};
  // Who waits for many kernels looks for one after the other, so many answers' time apart, and for the next at once where
  // one was there: nodes that all wait take then half of what a server bears, however slow it is. A kernel is looked for
  // after kLatestLook at the latest.
  static constexpr int kPace = 2;
  static constexpr std::chrono::milliseconds kLatestLook{1600};
  // A server that takes longer for an answer is not waited for: the node compiles.
  static constexpr std::chrono::milliseconds kAnswerWithin = AnswerTimes::kMostHeadStart;

  struct Waiter {
    // Looks for the result; calls back with whether it was there, which ends the lease.
    std::function<void(std::function<void(bool is_there)>)> look_up;
    // Another node compiles: told once.
    std::function<void()> waits;
    // The result is there, or is to be compiled here.
    std::function<void(bool compiles)> ended;
  };

  // `server`: may be null, and then who asks compiles. `answer_time`: what an answer takes.
  CompileLeases(std::function<RemoteServer*()> server, std::function<Clock::duration()> answer_time, const Clock& clock)
      : server_(std::move(server)), answer_time_(std::move(answer_time)), clock_(clock) {}
  // Waits for calls and timers; the servers' calls have ended.
  ~CompileLeases();

  void begin(const EntryKey& wanted, Waiter waiter);
  // Ends all, as ones that compile; from now on each ends at once.
  void end();

 private:
  class Lease;

  // When a look that is to be in `wait` has its turn.
  Clock::time_point turn_after(std::chrono::milliseconds wait);
  // Lets the lease whose turn is next look now.
  void look_for_next();

  const std::function<RemoteServer*()> server_;
  const std::function<Clock::duration()> answer_time_;
  const Clock& clock_;
  std::mutex mutex_;
  std::condition_variable none_left_;
  std::size_t alive_ = 0;
  std::set<Lease*> under_way_;
  bool has_ended_ = false;
  Clock::time_point next_look_{};
};

}  // namespace hearth::daemon
