// RpcConnection: one connection to hearthd's unix socket, which carries one gRPC call (over HTTP/2, by nghttp2) at a
// time. It has no thread and nothing that a process shares: gRPC's own library keeps both, and a process that forks can
// use it in neither half. Used by one thread at a time; a forked child closes its copy and uses none of the parent's
// objects. Errors: absl::Status with the call's code; UNAVAILABLE when the peer is gone.
//
//   absl::StatusOr<std::unique_ptr<RpcConnection>> rpc = RpcConnection::connect(socket_path, deadline);
//   (*rpc)->begin("/hearth.v1.AdminService/Stats", deadline);
//   (*rpc)->send(request.SerializeAsString(), /*last=*/true);
//   std::string reply;
//   while ((*rpc)->next(&reply) == RpcConnection::Event::kMessage) …   // then (*rpc)->status()
#pragma once
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/connection/daemon_socket.h"

namespace hearth::client {

class RpcConnection {
 public:
  using Deadline = std::chrono::steady_clock::time_point;
  static constexpr Deadline kNoDeadline = Deadline::max();
  static constexpr std::size_t kMaxMessageBytes = std::size_t{512} << 20;

  // Errors of connect_to_daemon().
  static absl::StatusOr<std::unique_ptr<RpcConnection>> connect(const std::string& socket_path, Deadline deadline);
  ~RpcConnection();
  RpcConnection(const RpcConnection&) = delete;
  RpcConnection& operator=(const RpcConnection&) = delete;

  // Begins a call: "/package.Service/Method". The deadline is the peer's to know and is kept here as well.
  void begin(std::string_view method, Deadline deadline);
  // Queues a message of the call, which next() sends; after the last one the peer is told that there are no more.
  void send(std::string_view message, bool last);
  // What next() has not sent yet: the peer does not read.
  std::size_t unsent_bytes() const;

  enum class Event {
    kMessage,  // in `message`
    kEnded,    // status() says how
    kWoken,    // `wake_fd` can be read
  };
  // Sends and receives until there is an event.
  Event next(std::string* message, int wake_fd = -1);
  const absl::Status& status() const;
  const DaemonPeer& peer() const;

  // Whether another call may begin: the last one ended in order, and the peer is still there.
  bool is_reusable();

 private:
  struct State;
  explicit RpcConnection(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hearth::client
