// PoisonList: requests that keep killing workers. The third death refuses the request for ten minutes and writes a repro
// bundle (the serialized WorkerRequest, for `hearth-worker --replay FILE`).
//
// A request is its user's own: what one user's requests did refuses no other user's. What the operator's did refuses
// everybody's. Thread-safe. check() answers FAILED_PRECONDITION, which names the bundle to the operator alone. A success
// forgets the user's earlier deaths. Example:
//   HEARTH_RETURN_IF_ERROR(poison.check(digest, user, now));
//   const auto refusal = poison.record_death(digest, user, "kernel 'sum_4'", request.SerializeAsString(), now);
#pragma once
#include <absl/status/status.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "daemon/operator.h"

namespace hearth::daemon {

class PoisonList {
 public:
  static constexpr unsigned kDeathsToRefuse = 3;

  // `repro_folder` is created when first needed.
  PoisonList(std::string repro_folder, std::chrono::milliseconds refuse_for)
      : repro_folder_(std::move(repro_folder)), refuse_for_(refuse_for) {}

  struct Refusal {
    std::string sentence;  // for the caller's error
    std::string bundle;    // where the bundle lies, or why there is none: for the operator
  };

  // `digest`: of all that reaches the worker. `user`: who asks.
  absl::Status check(const Digest& digest, uid_t user, Clock::time_point now);
  // Empty before the third death.
  std::optional<Refusal> record_death(const Digest& digest, uid_t user, const std::string& what,
                                      std::string_view request, Clock::time_point now);
  void record_success(const Digest& digest, uid_t user);

 private:
  struct Record {
    unsigned deaths = 0;
    Clock::time_point last_death;
    Clock::time_point refused_until;
    Refusal refusal;
  };
  // Whose deaths count: one user's, or with root's number the operator's.
  using Key = std::pair<Digest, uid_t>;
  static Key key_of(const Digest& digest, uid_t user) { return {digest, is_operator(user) ? 0 : user}; }
  absl::Status check(const Key& key, uid_t user, Clock::time_point now);
  // Where the bundle lies, or why it could not be written.
  std::string write_bundle(const Digest& digest, std::string_view request) const;
  void forget_old(Clock::time_point now);

  const std::string repro_folder_;
  const std::chrono::milliseconds refuse_for_;
  std::mutex mutex_;
  std::map<Key, Record> records_;
};

}  // namespace hearth::daemon
