#include "daemon/serve/grpc_status.h"

#include <absl/strings/cord.h>
#include <absl/types/optional.h>

#include <string>

#include "base/printable.h"
#include "daemon/worker_pool/worker_pool.h"

namespace hearth::daemon {

// Headers of a response, which a status is part of, may take 8 KiB in all.
constexpr std::size_t kMaxMessageBytes = 4'096;

grpc::Status to_grpc_status(const absl::Status& status, grpc::CallbackServerContext* context) {
  if (status.ok()) return grpc::Status::OK;
  if (absl::optional<absl::Cord> retry = status.GetPayload(kRetryAfterMsPayload)) {
    context->AddTrailingMetadata("grpc-retry-pushback-ms", std::string(*retry));
  }
  const std::string_view message(status.message().data(), status.message().size());
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), shortened(message, kMaxMessageBytes));
}

}  // namespace hearth::daemon
