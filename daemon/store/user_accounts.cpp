#include "daemon/store/user_accounts.h"

#include <absl/strings/str_cat.h>

#include "daemon/store/artifact_grants.h"

namespace hearth::daemon {
namespace {

std::int64_t minute_of(Clock::time_point at) {
  return std::chrono::duration_cast<std::chrono::minutes>(at.time_since_epoch()).count();
}

}  // namespace

UserAccounts::User& UserAccounts::user_of(uid_t user) {
  const auto found = users_.find(user);
  if (found != users_.end()) return found->second;
  return users_[users_.size() < kMaxUsers ? user : static_cast<uid_t>(-1)];
}

void UserAccounts::count(uid_t user, PrepareOutcome outcome) {
  std::lock_guard lock(mutex_);
  UserCounters& counters = user_of(user).counters;
  switch (outcome) {
    case PrepareOutcome::kHit:
      ++counters.hits;
      break;
    case PrepareOutcome::kMiss:
      ++counters.misses;
      break;
    case PrepareOutcome::kJoined:
      ++counters.joined;
      break;
    case PrepareOutcome::kError:
      ++counters.errors;
      break;
  }
}

void UserAccounts::compiled(uid_t user, std::uint64_t bytes, Clock::time_point now) {
  const std::int64_t number = minute_of(now);
  std::lock_guard lock(mutex_);
  User& of = user_of(user);
  ++of.counters.kernels_compiled;
  of.counters.bytes_stored += bytes;
  Hour::Minute& minute = of.hour.minutes[static_cast<std::size_t>(number % Hour::kMinutes)];
  if (minute.number != number) minute = {number, 0, 0};
  ++minute.kernels;
  minute.bytes += bytes;
}

void UserAccounts::count_over_quota(uid_t user) {
  std::lock_guard lock(mutex_);
  ++user_of(user).counters.over_quota;
}

absl::Status UserAccounts::check(uid_t user, Clock::time_point now) {
  if (quotas_.kernels_per_hour == 0 && quotas_.bytes_per_hour == 0) return absl::OkStatus();
  if (ArtifactGrants::is_trusted(user)) return absl::OkStatus();
  const std::int64_t oldest = minute_of(now) - Hour::kMinutes;
  std::lock_guard lock(mutex_);
  const User& of = user_of(user);
  std::uint64_t kernels = 0, bytes = 0;
  for (const Hour::Minute& minute : of.hour.minutes) {
    if (minute.number <= oldest) continue;
    kernels += minute.kernels;
    bytes += minute.bytes;
  }
  const bool too_many = quotas_.kernels_per_hour > 0 && kernels >= quotas_.kernels_per_hour;
  const bool too_large = quotas_.bytes_per_hour > 0 && bytes >= quotas_.bytes_per_hour;
  if (!too_many && !too_large) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      too_many ? absl::StrCat(kernels, " kernels were compiled") : absl::StrCat(bytes, " bytes were stored"),
      " for user ", user, " in the last hour, all that ", too_many ? "user_kernels_per_hour" : "user_bytes_per_hour",
      " allows: what is in the cache can be had, the rest later, or the daemon's operator allows more"));
}

std::map<uid_t, UserCounters> UserAccounts::snapshot(
    const std::map<cache::EntryOwner, cache::OwnerTotals>& in_cache) const {
  std::lock_guard lock(mutex_);
  std::map<uid_t, UserCounters> all;
  for (const auto& [user, of] : users_) all[user] = of.counters;
  for (const auto& [owner, totals] : in_cache) all[static_cast<uid_t>(owner)].in_cache = totals;
  return all;
}

}  // namespace hearth::daemon
