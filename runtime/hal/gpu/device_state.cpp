#include "runtime/hal/gpu/device_state.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "base/fork.h"
#include "base/text.h"

namespace hearth::runtime {
namespace {

std::chrono::nanoseconds timeout_from_environment() {
  std::int64_t ms = 0;
  const char* const text = std::getenv("HEARTH_DEVICE_TIMEOUT_MS");
  if (text == nullptr || !absl::SimpleAtoi(text, &ms) || ms <= 0) return std::chrono::minutes(2);
  return std::chrono::milliseconds(std::min<std::int64_t>(ms, 86'400'000));
}

std::int64_t milliseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

}  // namespace

DeviceState::DeviceState(std::string name)
    : name_(std::move(name)), fork_generation_(runtime::fork_generation()), timeout_(timeout_from_environment()) {}

absl::Status DeviceState::check_usable() const {
  if (fork_generation_ != runtime::fork_generation()) {
    return absl::FailedPreconditionError(
        str_cat(name_,
                ": it was in use when this process was forked, and drivers do not follow; prepare the plan in the "
                "child, before the parent uses the device"));
  }
  if (const char* error = lost_)
    return absl::UnavailableError(str_cat(name_, ": an earlier call: ", error, kLostRemedy));
  if (is_stuck_) {
    return absl::UnavailableError(
        str_cat(name_, ": an earlier run did not end within ", milliseconds(timeout_), " ms", kLostRemedy));
  }
  return absl::OkStatus();
}

bool DeviceState::is_abandoned() const { return is_stuck_ || fork_generation_ != runtime::fork_generation(); }

absl::Status DeviceState::stuck() const {
  set_stuck();
  return absl::DeadlineExceededError(str_cat(name_, ": a run did not end within ", milliseconds(timeout_),
                                             " ms (HEARTH_DEVICE_TIMEOUT_MS)", kLostRemedy));
}

}  // namespace hearth::runtime
