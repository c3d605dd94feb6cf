#include "daemon/serve/rpc_server.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_posix.h>

#include <algorithm>
#include <utility>

namespace hearth::daemon {

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::start(const std::vector<grpc::Service*>& services,
                                                            const RpcLimits& limits) {
  grpc::EnableDefaultHealthCheckService(true);
  // No service here has a thread of its own for a call; gRPC's reflection would, one a stream.
  grpc::ServerBuilder builder;
  for (grpc::Service* service : services) builder.RegisterService(service);
  builder.SetMaxReceiveMessageSize(static_cast<int>(std::min<std::uint64_t>(limits.message_bytes, 1u << 30)));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, limits.streams_per_connection);
  builder.SetResourceQuota(grpc::ResourceQuota("hearthd").Resize(static_cast<std::size_t>(limits.memory_bytes)));
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server) return absl::InternalError("gRPC could not start its server");
  return std::unique_ptr<RpcServer>(new RpcServer(std::move(server)));
}

RpcServer::RpcServer(std::unique_ptr<grpc::Server> server) : server_(std::move(server)) {}
RpcServer::~RpcServer() { shut_down(std::chrono::milliseconds(0)); }

void RpcServer::add_connection(int fd) { grpc::AddInsecureChannelFromFd(server_.get(), fd); }

void RpcServer::set_serving(bool serving) { server_->GetHealthCheckService()->SetServingStatus(serving); }

void RpcServer::shut_down(std::chrono::milliseconds patience) {
  server_->Shutdown(std::chrono::system_clock::now() + patience);
  server_->Wait();
}

}  // namespace hearth::daemon
