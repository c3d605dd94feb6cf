#include "daemon/remote/circuit_breaker.h"

#include <algorithm>

#include "base/split_mix.h"

namespace hearth::daemon {
namespace {

constexpr int kMostFailures = 3;  // in a row
constexpr std::chrono::milliseconds kLeastOpen{1000}, kMostOpenAtFirst{3000}, kMostOpen{60'000};

}  // namespace

bool CircuitBreaker::allows() const {
  const std::lock_guard lock(mutex_);
  return state_ == State::kClosed;
}

bool CircuitBreaker::begins_probe() {
  const std::lock_guard lock(mutex_);
  if (state_ != State::kOpen || clock_.now() < probe_at_) return false;
  state_ = State::kHalfOpen;
  return true;
}

void CircuitBreaker::succeeded() {
  const std::lock_guard lock(mutex_);
  if (state_ == State::kOpen) return;  // of a call that was made before it opened
  state_ = State::kClosed;
  failures_ = openings_ = 0;
}

void CircuitBreaker::failed(Failure failure) {
  const std::lock_guard lock(mutex_);
  if (state_ == State::kOpen) return;
  ++failures_;
  if (state_ == State::kHalfOpen || failure == Failure::kIdentity || failures_ >= kMostFailures) open();
}

void CircuitBreaker::open() {
  const auto width = static_cast<std::uint64_t>((kMostOpenAtFirst - kLeastOpen).count());
  std::chrono::milliseconds wait = kLeastOpen + std::chrono::milliseconds(next_random(seed_) % (width + 1));
  for (int i = 0; i < openings_ && wait < kMostOpen; ++i) wait *= 2;
  probe_at_ = clock_.now() + std::min(wait, kMostOpen);
  state_ = State::kOpen;
  failures_ = 0;
  ++openings_;
  ++times_opened_;
}

CircuitBreaker::State CircuitBreaker::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

std::uint64_t CircuitBreaker::times_opened() const {
  const std::lock_guard lock(mutex_);
  return times_opened_;
}

}  // namespace hearth::daemon
