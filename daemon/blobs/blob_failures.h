// BlobFailures: compiles that failed a moment ago. Until `retry_after` has passed the same request gets the same error
// at once, so that hundreds of processes do not have a broken blob compiled again and again. Thread-safe. Example:
//   HEARTH_RETURN_IF_ERROR(failures.recent(key));
//   failures.add(key, status);
#pragma once
#include <absl/status/status.h>

#include <chrono>
#include <map>
#include <mutex>

#include "base/clock.h"
#include "base/sha256.h"
#include "base/status_macros.h"

namespace hearth::daemon {

class BlobFailures {
 public:
  static constexpr std::size_t kMaxRemembered = 4096;

  explicit BlobFailures(std::chrono::milliseconds retry_after) : retry_after_(retry_after) {}

  // OK when there was none; else the error, with "failed N s ago".
  absl::Status recent(const Digest& key, Clock::time_point now);
  // Remembers what is the blob's or the compiler's fault; what is the caller's (CANCELLED) or the moment's
  // (UNAVAILABLE, ABORTED) is not.
  void add(const Digest& key, const absl::Status& status, Clock::time_point now);
  void forget(const Digest& key);

 private:
  struct Failure {
    absl::Status status;
    Clock::time_point at;
  };
  const std::chrono::milliseconds retry_after_;
  std::mutex mutex_;
  std::map<Digest, Failure> failures_;
};

}  // namespace hearth::daemon
