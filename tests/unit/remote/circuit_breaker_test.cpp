// When a remote is asked, and when it is left alone.
#include "daemon/remote/circuit_breaker.h"

#include <catch2/catch.hpp>
#include <set>

#include "tests/support/manual_clock.h"

using hearth::daemon::CircuitBreaker;
using hearth::test::ManualClock;
using Failure = CircuitBreaker::Failure;
using State = CircuitBreaker::State;
using namespace std::chrono_literals;

namespace {

void fail(CircuitBreaker& breaker, int times) {
  for (int i = 0; i < times; ++i) breaker.failed(Failure::kTransient);
}

// Milliseconds until a breaker that is open lets a probe through.
int open_for(CircuitBreaker& breaker, ManualClock& clock) {
  for (int ms = 0; ms <= 61'000; ++ms) {
    if (breaker.begins_probe()) return ms;
    clock.advance(1ms);
  }
  return -1;
}

}  // namespace

TEST_CASE("three failures in a row open a breaker, two and an answer do not") {
  ManualClock clock;
  CircuitBreaker breaker(clock, 1);
  for (int i = 0; i < 5; ++i) {
    fail(breaker, 2);
    CHECK(breaker.allows());
    breaker.succeeded();
  }
  CHECK_FALSE(breaker.begins_probe());
  fail(breaker, 3);
  CHECK_FALSE(breaker.allows());
  CHECK(breaker.state() == State::kOpen);
  CHECK(breaker.times_opened() == 1);
}

TEST_CASE("one refusal of who asks opens a breaker at once") {
  ManualClock clock;
  CircuitBreaker breaker(clock, 1);
  breaker.failed(Failure::kIdentity);
  CHECK(breaker.state() == State::kOpen);
}

TEST_CASE("a breaker is open for a second to three by chance, then lets one probe through") {
  std::set<int> times;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    ManualClock clock;
    CircuitBreaker breaker(clock, seed);
    fail(breaker, 3);
    const int ms = open_for(breaker, clock);
    CHECK(ms >= 1000);
    CHECK(ms <= 3000);
    times.insert(ms);
    CHECK(breaker.state() == State::kHalfOpen);
    CHECK_FALSE(breaker.begins_probe());  // another one
    CHECK_FALSE(breaker.allows());
    breaker.succeeded();
    CHECK(breaker.allows());
    fail(breaker, 2);
    CHECK(breaker.allows());
  }
  CHECK(times.size() > 30);
}

TEST_CASE("each probe that fails doubles the time, up to a minute; an answer begins anew") {
  ManualClock clock;
  CircuitBreaker breaker(clock, 7);
  fail(breaker, 3);
  int least = 1000, most = 3000;
  for (int opening = 0; opening < 9; ++opening) {
    const int ms = open_for(breaker, clock);
    CHECK(ms >= std::min(least, 60'000));
    CHECK(ms <= std::min(most, 60'000));
    least *= 2, most *= 2;
    breaker.failed(Failure::kTransient);
    CHECK(breaker.state() == State::kOpen);
  }
  CHECK(open_for(breaker, clock) == 60'000);
  breaker.succeeded();
  CHECK(breaker.state() == State::kClosed);
  fail(breaker, 3);
  CHECK(open_for(breaker, clock) <= 3000);
  CHECK(breaker.times_opened() == 11);
}

TEST_CASE("answers and failures of calls from before a breaker opened change nothing") {
  ManualClock clock;
  CircuitBreaker breaker(clock, 3);
  fail(breaker, 3);
  breaker.succeeded();
  CHECK(breaker.state() == State::kOpen);
  fail(breaker, 10);
  CHECK(breaker.times_opened() == 1);
  CHECK(open_for(breaker, clock) <= 3000);
}
