// UserAccounts: what each user of a shared daemon has asked for and had compiled, and the quotas on what may be
// compiled for one in an hour. The owner and root have no quota. Thread-safe. Errors: RESOURCE_EXHAUSTED naming the
// setting.
//
//   accounts.count(client.uid, PrepareOutcome::kMiss);
//   accounts.compiled(client.uid, artifact_bytes);
//   if (absl::Status over = accounts.check(client.uid); !over.ok()) …;   // what is in the cache may still be had
#pragma once
#include <absl/status/status.h>
#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>

#include "base/clock.h"
#include "daemon/metrics.h"
#include "kernels_cache/entry.h"

namespace hearth::daemon {

struct UserQuotas {
  std::uint64_t kernels_per_hour = 0;  // 0: no limit
  std::uint64_t bytes_per_hour = 0;    // of artifacts stored; 0: no limit
};

struct UserCounters {
  std::uint64_t hits = 0, misses = 0, joined = 0, errors = 0;  // of Prepare
  std::uint64_t kernels_compiled = 0;
  std::uint64_t bytes_stored = 0;
  std::uint64_t over_quota = 0;  // requests refused since the quota was used up
  cache::OwnerTotals in_cache;   // what the cache holds that was made for it
};

class UserAccounts {
 public:
  explicit UserAccounts(UserQuotas quotas = {}, const Clock& clock = Clock::machine())
      : quotas_(quotas), clock_(clock) {}

  void count(uid_t user, PrepareOutcome outcome);
  void compiled(uid_t user, std::uint64_t bytes) { compiled(user, bytes, clock_.now()); }
  void compiled(uid_t user, std::uint64_t bytes, Clock::time_point now);
  absl::Status check(uid_t user) { return check(user, clock_.now()); }
  absl::Status check(uid_t user, Clock::time_point now);
  // A request that check() refused and the cache could not answer either.
  void count_over_quota(uid_t user);
  // `in_cache`: CacheStats::owners, of which each user's is added.
  std::map<uid_t, UserCounters> snapshot(const std::map<cache::EntryOwner, cache::OwnerTotals>& in_cache = {}) const;

 private:
  // The last hour, minute by minute: the sums of what lies in it.
  struct Hour {
    static constexpr std::int64_t kMinutes = 60;
    struct Minute {
      std::int64_t number = -1;  // since the clock's beginning
      std::uint64_t kernels = 0, bytes = 0;
    };
    std::array<Minute, kMinutes> minutes;
  };
  struct User {
    UserCounters counters;
    Hour hour;
  };
  static constexpr std::size_t kMaxUsers = 10'000;  // beyond, new ones are one: (uid_t)-1

  User& user_of(uid_t user);

  const UserQuotas quotas_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::map<uid_t, User> users_;
};

}  // namespace hearth::daemon
