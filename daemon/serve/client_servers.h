// ClientServers: a gRPC server for each client process, so that the memory gRPC holds for one process's requests is its
// own: when that is full gRPC cancels calls and closes connections at random, which must not be another process's.
//
// A server is made for the first connection of a process and used by another one when its last is gone: there are as
// many as processes were ever connected at once. None is ended before the end, which would wait for its calls.
// add_connection() and forget() belong to one thread, the others are thread-safe. Errors:
// INTERNAL when gRPC cannot start. Example:
//   ClientServers servers([&] { return std::make_unique<ServiceSet>(...); }, limits);
//   servers.add_connection(fd, {peer.uid, peer.pid});
//   servers.forget(client);             // it has no connection left
//   servers.shut_down(patience);
#pragma once
#include <absl/status/statusor.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "daemon/client_id.h"
#include "daemon/serve/rpc_server.h"

namespace hearth::daemon {

// The services of one server: gRPC takes each object once.
class ServiceSet {
 public:
  virtual ~ServiceSet() = default;
  virtual std::vector<grpc::Service*> services() = 0;
};

class ClientServers {
 public:
  using Factory = std::function<std::unique_ptr<ServiceSet>()>;

  ClientServers(Factory factory, const RpcLimits& limits) : factory_(std::move(factory)), limits_(limits) {}
  ~ClientServers() { shut_down(std::chrono::milliseconds(0)); }

  // Makes one server ahead of need, which tells whether gRPC can.
  absl::Status start();
  // Owns `fd` from now on, also on error.
  absl::Status add_connection(int fd, const ClientId& client);
  void forget(const ClientId& client);

  // What grpc.health.v1 answers.
  void set_serving(bool serving);
  // Calls that still run after `patience` are cancelled; returns when all have ended. Nothing is added afterwards.
  void shut_down(std::chrono::milliseconds patience);

 private:
  struct Server {
    std::unique_ptr<ServiceSet> services;  // outlives rpc
    std::unique_ptr<RpcServer> rpc;
  };
  absl::StatusOr<std::unique_ptr<Server>> make() const;

  const Factory factory_;
  const RpcLimits limits_;
  std::mutex mutex_;
  bool serving_ = true;
  bool ended_ = false;
  std::map<ClientId, std::unique_ptr<Server>> of_client_;
  std::vector<std::unique_ptr<Server>> idle_;
};

}  // namespace hearth::daemon
