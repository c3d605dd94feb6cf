// DeviceState: whether a GPU can still be used by this process: it may be lost, stuck in a run that did not end, or
// belong to the process that this one was forked from. Thread-safe.
// Errors: FAILED_PRECONDITION after a fork, UNAVAILABLE once it is lost or stuck, DEADLINE_EXCEEDED when it gets stuck.
//
//   HEARTH_RETURN_IF_ERROR(state.check_usable());
//   if (result == kTimeout) return state.stuck();
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace hearth::runtime {

class DeviceState {
 public:
  // Belongs to the process that makes it. `name`: of the device, for messages.
  explicit DeviceState(std::string name);

  // Before anything else of the device.
  absl::Status check_usable() const;
  // Whether nothing may be destroyed any more: it may still be in use, or is another process's.
  bool is_abandoned() const;

  // How long a run may take: HEARTH_DEVICE_TIMEOUT_MS, else two minutes.
  std::chrono::nanoseconds timeout() const { return timeout_; }
  // It did not end in that time; the error says so.
  absl::Status stuck() const;
  void set_stuck() const { is_stuck_ = true; }
  // `error`: the driver's word for it, a literal.
  void set_lost(const char* error) const { lost_ = error; }

 private:
  const std::string name_;
  const std::uint32_t fork_generation_;
  const std::chrono::nanoseconds timeout_;
  mutable std::atomic<const char*> lost_ = nullptr;
  mutable std::atomic<bool> is_stuck_ = false;
};

// What users of a device that is lost are told to do.
inline constexpr char kLostRemedy[] = "; start the process anew, or use another device";

}  // namespace hearth::runtime
