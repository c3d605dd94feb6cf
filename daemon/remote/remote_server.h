// RemoteServer: one remote cache as this node sees it: its calls, whether it is asked at all (the breaker), what it can
// do, and what was last wrong with it, which is logged once and not a line a call. Thread-safe.
//
//   if (server.is_asked()) fetch_result(server.endpoint(), …);
//   server.note(status);              // how that went
//   server.probe_if_due();            // now and then
#pragma once
#include <mutex>
#include <string>

#include "daemon/remote/circuit_breaker.h"
#include "daemon/remote/remote_endpoint.h"

namespace hearth::daemon {

class RemoteServer {
 public:
  RemoteServer(RemoteAddress address, const RemoteSettings& settings, const Clock& clock, std::uint64_t seed);

  RemoteEndpoint& endpoint() { return endpoint_; }
  const RemoteAddress& address() const { return endpoint_.address(); }
  // Whether ordinary calls are made.
  bool is_asked() const { return breaker_.allows(); }
  const CircuitBreaker& breaker() const { return breaker_; }

  // Asks what it can do. Until that is answered it is asked like any server.
  void begin() { ask(); }
  // The same where the breaker has been open for its time; the answer closes it.
  void probe_if_due();
  // How a call ended: OK and NOT_FOUND are answers; what was cancelled says nothing.
  void note(const absl::Status& status);

  ServerAbilities abilities() const;
  // It has refused to keep a result: none is sent until it is asked again what it can do.
  void stop_sending();
  // OK, or what is wrong, with its remedy where there is one.
  absl::Status problem() const;

 private:
  void ask();

  CircuitBreaker breaker_;
  mutable std::mutex mutex_;
  ServerAbilities abilities_{true, RemoteEndpoint::kBatchBytes};
  absl::Status problem_;
  RemoteEndpoint endpoint_;  // last: its calls end before the rest goes
};

}  // namespace hearth::daemon
