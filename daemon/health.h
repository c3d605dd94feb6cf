// Health: what keeps the daemon from doing all of its work, by part: a worker program that cannot be started, a cache
// that cannot be written. Thread-safe. Example:
//   health.set("workers", status);   // OK: this part works
//   health.text();                   // "ready" or "degraded: REASON; REASON"
#pragma once
#include <absl/status/status.h>

#include <chrono>
#include <map>
#include <mutex>
#include <string>

#include "base/clock.h"

namespace hearth::daemon {

class Health {
 public:
  // What was found by looking at `as_of`; what an earlier look found, and is told later, changes nothing.
  void set(const std::string& part, const absl::Status& status, Clock::time_point as_of) {
    std::lock_guard lock(mutex_);
    Clock::time_point& told = told_[part];
    if (as_of < told) return;
    told = as_of;
    if (status.ok()) {
      reasons_.erase(part);
    } else {
      reasons_[part] = std::string(status.message());
    }
  }

  std::string text() const {
    std::lock_guard lock(mutex_);
    std::string all;
    for (const auto& [part, reason] : reasons_) all += (all.empty() ? "" : "; ") + reason;
    return all.empty() ? "ready" : "degraded: " + all;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string> reasons_;
  std::map<std::string, Clock::time_point> told_;
};

}  // namespace hearth::daemon
