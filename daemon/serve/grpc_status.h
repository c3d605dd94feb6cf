// grpc_status: what the daemon's absl statuses are on the wire.
//   Finish(to_grpc_status(explained.status(), context));
#pragma once
#include <absl/status/status.h>
#include <grpcpp/grpcpp.h>

namespace hearth::daemon {

// gRPC status of `status`, with the retry hint as trailing metadata "grpc-retry-pushback-ms" when there is one.
grpc::Status to_grpc_status(const absl::Status& status, grpc::CallbackServerContext* context);

}  // namespace hearth::daemon
