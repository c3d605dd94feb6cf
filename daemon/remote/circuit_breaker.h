// CircuitBreaker: whether a remote is asked at all. Closed, it is; after three failures in a row, or one refusal of who
// asks, it is open for a second to three, then longer each time, up to a minute; then one probe is let through
// (half-open), which closes it or opens it again. Without it a server that is gone costs each build a deadline.
// Source: Nygard, Release It! (2007); the times by chance, so that a fleet does not come back at once. Thread-safe.
//
//   if (breaker.allows()) ask(…);            // then breaker.succeeded() or failed(…)
//   else if (breaker.begins_probe()) probe(…);
#pragma once
#include <cstdint>
#include <mutex>

#include "base/clock.h"

namespace hearth::daemon {

class CircuitBreaker {
 public:
  enum class State { kClosed, kOpen, kHalfOpen };
  // What a call ended with, where not with an answer.
  enum class Failure {
    kTransient,  // late, unreachable, out of resources
    kIdentity,   // UNAUTHENTICATED or PERMISSION_DENIED: the next one is refused, too
  };

  // `seed`: of the times by chance.
  CircuitBreaker(const Clock& clock, std::uint64_t seed) : clock_(clock), seed_(seed) {}

  // Whether ordinary calls are made.
  bool allows() const;
  // True for one caller once the breaker has been open for its time: that one asks for the server's capabilities and
  // reports how it went.
  bool begins_probe();
  // How a call went, an ordinary one or a probe. What comes in while the breaker is open changes nothing.
  void succeeded();
  void failed(Failure failure);

  State state() const;
  std::uint64_t times_opened() const;

 private:
  void open();  // mutex_ is held

  const Clock& clock_;
  mutable std::mutex mutex_;
  std::uint64_t seed_;
  State state_ = State::kClosed;
  int failures_ = 0;  // in a row
  int openings_ = 0;  // in a row, without an answer between
  std::uint64_t times_opened_ = 0;
  Clock::time_point probe_at_{};
};

}  // namespace hearth::daemon
