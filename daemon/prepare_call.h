// PrepareCall: one Prepare stream of gRPC's callback API: translates between protos and Preparer, takes the lease,
// counts the outcome, streams progress. Deletes itself when gRPC is done with it. Thread-safe inside.
//   return new PrepareCall(preparer, leases, metrics, store, gauge, request, context);
#pragma once
#include <grpcpp/grpcpp.h>

#include <deque>
#include <memory>
#include <mutex>

#include "daemon/activity.h"
#include "daemon/leases.h"
#include "daemon/metrics.h"
#include "daemon/preparer.h"
#include "hearth/v1/compiler_service.pb.h"

namespace hearth::daemon {

// What calls need of the daemon; everything outlives the server.
struct CallServices {
  Preparer* preparer = nullptr;
  Leases* leases = nullptr;
  Metrics* metrics = nullptr;
  ResultStore* store = nullptr;
  Activity* activity = nullptr;
};

// gRPC status of `status`, with the retry hint as trailing metadata "grpc-retry-pushback-ms" when there is one.
grpc::Status to_grpc_status(const absl::Status& status, grpc::CallbackServerContext* context);

class PrepareCall : public grpc::ServerWriteReactor<v1::PrepareEvent> {
 public:
  PrepareCall(const CallServices& services, grpc::CallbackServerContext* context, const v1::PrepareRequest* request);

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  // What late callbacks hold instead of the call, which may be gone.
  struct Link {
    std::mutex mutex;
    PrepareCall* call = nullptr;
  };

  void begin();
  // All with link_->mutex held.
  void report(const BuildProgress& progress);
  void answer(absl::StatusOr<Prepared> prepared);
  void finish(const absl::Status& status, PrepareOutcome outcome);
  void write_next();

  const CallServices services_;
  grpc::CallbackServerContext* const context_;
  const v1::PrepareRequest* const request_;
  const Activity::Token token_;
  const std::shared_ptr<Link> link_;
  PlanFlights::Ticket ticket_;
  v1::PrepareEvent writing_;
  std::deque<v1::PrepareEvent> pending_;
  grpc::Status status_;
  std::uint32_t kernels_told_ = 0;
  bool reported_ = false;  // some progress was told
  bool busy_ = false;      // a write is under way
  bool settled_ = false;   // outcome known and counted
  bool finished_ = false;  // Finish was called
};

}  // namespace hearth::daemon
