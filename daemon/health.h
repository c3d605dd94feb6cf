// Health: what keeps the daemon from doing all of its work, by part: a worker program that cannot be started, a cache
// that cannot be written. Thread-safe. Example:
//   health.set("workers", status);   // OK: this part works
//   health.text();                   // "ready" or "degraded: REASON; REASON"
#pragma once
#include <absl/status/status.h>

#include <map>
#include <mutex>
#include <string>

namespace hearth::daemon {

class Health {
 public:
  void set(const std::string& part, const absl::Status& status) {
    std::lock_guard lock(mutex_);
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
};

}  // namespace hearth::daemon
