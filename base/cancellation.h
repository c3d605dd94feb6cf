// Cancellation of a call that waits: whoever starts one says, for its thread and as long as a CancelScope lives, how it
// is to be asked whether anybody still wants the result; whatever waits below it, however deep, asks in between.
// Threads that a call starts are not covered. A scope within another one stands for both.
//
//   const CancelScope scope(config.cancelled);      // empty: nothing new is asked
//   ...
//   poll(&entry, 1, wait_slice_ms(left_ms));        // at most kCancelSlice at a time where there is a scope
//   if (is_cancelled()) return absl::CancelledError("the call was cancelled");
#pragma once
#include <chrono>
#include <functional>

namespace hearth {

// How long a wait lasts before it asks again: a person who presses Ctrl-C notices twice of it.
inline constexpr std::chrono::milliseconds kCancelSlice{50};

class CancelScope {
 public:
  // `cancelled` is called on this thread only, and lives as long.
  explicit CancelScope(const std::function<bool()>& cancelled);
  ~CancelScope();
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

  // Asks; once true, it stays true and is not asked again.
  bool is_cancelled();

 private:
  const std::function<bool()>& cancelled_;
  CancelScope* const outer_;
  bool was_cancelled_ = false;
};

// Whether one of this thread's scopes is cancelled; false without a scope.
bool is_cancelled();

// The part of a wait of `left` milliseconds, of which a negative number has no end, that may pass before is_cancelled()
// is asked: all of it without a scope.
int wait_slice_ms(int left);

// Sleeps, and wakes early where the call is cancelled: false then.
bool sleep_unless_cancelled(std::chrono::microseconds time);

}  // namespace hearth
