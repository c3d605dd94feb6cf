// RemoteTimer: does something after a time, on a thread of gRPC's. Destroying it, or cancel(), keeps it from happening
// if it has not begun. Thread-safe.
//
//   RemoteTimer timer(times.head_start(), [self] { self->begin_local_work(); });
#pragma once
#include <grpcpp/alarm.h>

#include <chrono>
#include <functional>
#include <utility>

namespace hearth::daemon {

class RemoteTimer {
 public:
  RemoteTimer(std::chrono::steady_clock::duration after, std::function<void()> then) {
    const auto us = std::chrono::duration_cast<std::chrono::microseconds>(after).count();
    alarm_.Set(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_micros(us, GPR_TIMESPAN)),
               [then = std::move(then)](bool has_passed) {
                 if (has_passed) then();
               });
  }
  void cancel() { alarm_.Cancel(); }

 private:
  grpc::Alarm alarm_;
};

}  // namespace hearth::daemon
