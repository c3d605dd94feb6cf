// Leases: which session holds which plans. A lease keeps what it was given (the pin of a plan and its artifacts)
// alive until the client releases it or its session ends. Ids are random: another client cannot guess a session's, and
// an id that an earlier daemon gave means nothing to this one. Thread-safe. Example:
//   std::uint64_t session = leases.open_session(client);
//   absl::StatusOr<std::uint64_t> lease = leases.add(session, plan->pin);
//   leases.close_session(session);   // releases all of its leases
#pragma once
#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "daemon/client_id.h"

namespace hearth::daemon {

class Leases {
 public:
  using Held = std::shared_ptr<const void>;
  static constexpr std::size_t kMaxLeases = 1u << 17;

  explicit Leases(std::size_t max_leases = kMaxLeases) : max_leases_(max_leases) {}

  std::uint64_t open_session(const ClientId& client);
  void close_session(std::uint64_t session);

  // FAILED_PRECONDITION when the session is not open; RESOURCE_EXHAUSTED when there are max_leases, or the
  // session's client has half of them.
  absl::StatusOr<std::uint64_t> add(std::uint64_t session, Held held);
  // Unknown leases are ignored: releasing twice is harmless.
  void release(std::uint64_t session, std::uint64_t lease);

  std::size_t num_sessions() const;
  std::size_t num_leases() const;
  std::size_t max_leases() const { return max_leases_; }

 private:
  void give_back(const ClientId& client, std::size_t count);

  const std::size_t max_leases_;
  mutable std::mutex mutex_;
  std::size_t num_leases_ = 0;
  struct Session {
    ClientId client;
    std::map<std::uint64_t, Held> leases;
  };
  std::map<std::uint64_t, Session> sessions_;
  std::map<ClientId, std::size_t> of_client_;  // leases; none is 0
};

}  // namespace hearth::daemon
