#include "daemon/serve/grpc_status.h"

#include <absl/strings/cord.h>
#include <absl/types/optional.h>

#include <string>

#include "daemon/worker_pool/worker_pool.h"

namespace hearth::daemon {

grpc::Status to_grpc_status(const absl::Status& status, grpc::CallbackServerContext* context) {
  if (status.ok()) return grpc::Status::OK;
  if (absl::optional<absl::Cord> retry = status.GetPayload(kRetryAfterMsPayload)) {
    context->AddTrailingMetadata("grpc-retry-pushback-ms", std::string(*retry));
  }
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

}  // namespace hearth::daemon
