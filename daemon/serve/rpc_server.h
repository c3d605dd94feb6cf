// RpcServer: a gRPC server without a port: it serves the services it was given on connections that others accepted.
//
// Limits what clients can make it hold: one quota of memory for all connections, streams per connection, bytes per
// message. The services must outlive it. Thread-safe but for the destructor. Errors: INTERNAL when gRPC cannot start.
// Example:
//   auto server = RpcServer::start({&compiler_service, &admin_service}, limits);
//   (*server)->add_connection(fd);
//   (*server)->set_serving(false);
//   (*server)->shut_down(std::chrono::milliseconds(500));
#pragma once
#include <absl/status/statusor.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

namespace grpc {
class Server;
class Service;
}  // namespace grpc

namespace hearth::daemon {

struct RpcLimits {
  std::uint64_t memory_bytes = 130ull << 20;  // of all connections' buffers together
  std::uint64_t message_bytes = 65ull << 20;  // of one request
  int streams_per_connection = 64;            // calls at once, sessions included
};

class RpcServer {
 public:
  static absl::StatusOr<std::unique_ptr<RpcServer>> start(const std::vector<grpc::Service*>& services,
                                                          const RpcLimits& limits);
  ~RpcServer();
  RpcServer(const RpcServer&) = delete;
  RpcServer& operator=(const RpcServer&) = delete;

  // Owns `fd` from now on.
  void add_connection(int fd);
  // What grpc.health.v1 answers.
  void set_serving(bool serving);
  // Calls that still run after `patience` are cancelled; returns when all have ended.
  void shut_down(std::chrono::milliseconds patience);

 private:
  explicit RpcServer(std::unique_ptr<grpc::Server> server);
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace hearth::daemon
