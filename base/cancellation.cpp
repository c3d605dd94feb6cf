#include "base/cancellation.h"

#include <algorithm>
#include <thread>

namespace hearth {
namespace {

thread_local CancelScope* innermost = nullptr;

}  // namespace

CancelScope::CancelScope(const std::function<bool()>& cancelled) : cancelled_(cancelled), outer_(innermost) {
  if (cancelled_) innermost = this;
}

CancelScope::~CancelScope() {
  if (cancelled_) innermost = outer_;
}

bool CancelScope::is_cancelled() {
  if (!was_cancelled_) was_cancelled_ = cancelled_() || (outer_ != nullptr && outer_->is_cancelled());
  return was_cancelled_;
}

bool is_cancelled() { return innermost != nullptr && innermost->is_cancelled(); }

int wait_slice_ms(int left) {
  if (innermost == nullptr) return left;
  const auto slice = static_cast<int>(kCancelSlice.count());
  return left < 0 ? slice : std::min(left, slice);
}

bool sleep_unless_cancelled(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  for (;;) {
    if (is_cancelled()) return false;
    const auto left = end - std::chrono::steady_clock::now();
    if (left <= std::chrono::steady_clock::duration::zero()) return true;
    const auto slice = innermost == nullptr ? left : std::min<decltype(left)>(left, kCancelSlice);
    std::this_thread::sleep_for(slice);
  }
}

}  // namespace hearth
