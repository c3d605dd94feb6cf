// Leases: which session holds which plans. A lease keeps what it was given (the pin of a plan and its artifacts)
// alive until the client releases it or its session ends. Thread-safe; ids are never reused within a daemon.
//   std::uint64_t session = leases.open_session();
//   absl::StatusOr<std::uint64_t> lease = leases.add(session, plan->pin);
//   leases.close_session(session);   // releases all of its leases
#pragma once
#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace hearth::daemon {

class Leases {
 public:
  using Held = std::shared_ptr<const void>;

  std::uint64_t open_session();
  void close_session(std::uint64_t session);

  // FAILED_PRECONDITION when the session is not open.
  absl::StatusOr<std::uint64_t> add(std::uint64_t session, Held held);
  // Unknown leases are ignored: releasing twice is harmless.
  void release(std::uint64_t session, std::uint64_t lease);

  std::size_t num_sessions() const;
  std::size_t num_leases() const;

 private:
  mutable std::mutex mutex_;
  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, std::map<std::uint64_t, Held>> sessions_;
};

}  // namespace hearth::daemon
