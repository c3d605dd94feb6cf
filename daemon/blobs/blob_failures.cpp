#include "daemon/blobs/blob_failures.h"

#include <absl/strings/str_cat.h>

namespace hearth::daemon {

absl::Status BlobFailures::recent(const Digest& key, Clock::time_point now) {
  std::lock_guard lock(mutex_);
  const auto failure = failures_.find(key);
  if (failure == failures_.end()) return absl::OkStatus();
  const auto age = now - failure->second.at;
  if (age >= retry_after_) {
    failures_.erase(failure);
    return absl::OkStatus();
  }
  using std::chrono::duration_cast;
  using std::chrono::seconds;
  return absl::Status(failure->second.status.code(),
                      absl::StrCat(failure->second.status.message(), " (failed ", duration_cast<seconds>(age).count(),
                                   " s ago; it is not tried again for another ",
                                   std::chrono::ceil<seconds>(retry_after_ - age).count(), " s)"));
}

void BlobFailures::add(const Digest& key, const absl::Status& status, Clock::time_point now) {
  if (status.ok() || absl::IsCancelled(status) || absl::IsUnavailable(status) || absl::IsAborted(status)) return;
  std::lock_guard lock(mutex_);
  if (failures_.size() >= kMaxRemembered) {
    std::erase_if(failures_, [&](const auto& entry) { return now - entry.second.at >= retry_after_; });
    if (failures_.size() >= kMaxRemembered) failures_.clear();
  }
  failures_[key] = {status, now};
}

void BlobFailures::forget(const Digest& key) {
  std::lock_guard lock(mutex_);
  failures_.erase(key);
}

}  // namespace hearth::daemon
