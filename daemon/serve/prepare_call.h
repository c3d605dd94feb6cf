// PrepareCall: one Prepare stream: translates between protos and Preparer, takes the lease, counts the outcome,
// streams progress. Lives as EventStream says.
//   return new PrepareCall(calls, context, bytes);
#pragma once
#include <chrono>
#include <string>

#include "daemon/activity.h"
#include "daemon/log_fields.h"
#include "daemon/metrics.h"
#include "daemon/prepare/leases.h"
#include "daemon/prepare/preparer.h"
#include "daemon/serve/request_stream.h"
#include "hearth/v1/compiler_service.pb.h"

namespace hearth::daemon {

class PrepareCall final : public RequestStream<v1::PrepareRequest, v1::PrepareEvent> {
 public:
  PrepareCall(const CallServices& services, grpc::CallbackServerContext* context, const grpc::ByteBuffer* request);

 private:
  void begin() override;
  void report_queued();
  void report(const BuildProgress& progress);
  void answer(absl::StatusOr<Prepared> prepared);
  void tell_failure(const absl::Status& why, const std::string& of_model, double took_ms,
                    LogFields::Fields fields) const;
  void count_failure() override {
    services_.metrics->count(PrepareOutcome::kError, std::chrono::steady_clock::now() - began_);
  }

  const CallServices services_;
  const std::int64_t number_;
  const std::string name_;  // for the log
  const Metrics::Call counted_;
  std::uint32_t kernels_told_ = 0;
  bool told_queued_ = false;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace hearth::daemon
