// ConnectedClients: whose connection a call came on. gRPC tells a call only the name that it has given to its
// connection, which for one that was handed over is "fd:N", N being its descriptor. Thread-safe. Example:
//   clients.add(fd, peer);                       // before RpcServer::add_connection(fd)
//   const ClientId client = clients.of(*context);
#pragma once
#include <mutex>
#include <string>
#include <unordered_map>

#include "daemon/client_id.h"

namespace grpc {
class CallbackServerContext;
}  // namespace grpc

namespace hearth::daemon {

class ConnectedClients {
 public:
  // Replaces who had this descriptor before.
  void add(int fd, const ClientId& client);
  // Nobody (user -1, process 0) where the connection was not added.
  ClientId of(const grpc::CallbackServerContext& context) const;
  ClientId named(const std::string& peer) const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<int, ClientId> by_fd_;  // as many as descriptors were ever open at once
};

}  // namespace hearth::daemon
