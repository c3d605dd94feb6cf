// Preparer: what Prepare means, without gRPC: check limits, look the plan up, else build it once for all callers.
//
// A plan that was found a moment ago is answered on the calling thread before prepare() returns; what needs the disk or
// a compile later, on a daemon thread. Thread-safe.
// The caller counts its outcome (Metrics) when it has answered. Errors as in request_limits.h, worker_pool.h; after
// close() UNAVAILABLE. Example:
//   auto ticket = preparer.prepare(request, {.done = on_done, .progress = on_progress});
//   ticket.leave();   // the caller hung up
#pragma once
#include <absl/status/statusor.h>

#include <atomic>
#include <functional>
#include <memory>

#include "daemon/prepare/plan_build.h"
#include "daemon/store/request_limits.h"
#include "hearth/v1/compiler_service.pb.h"

namespace hearth::daemon {

struct Prepared {
  Digest plan_key{};
  std::shared_ptr<const BuiltPlan> built;
  PrepareOutcome outcome = PrepareOutcome::kHit;
};

class Preparer {
 public:
  struct Caller {
    ClientId client;
    std::function<void(absl::StatusOr<Prepared>)> done;  // at most once; never after the ticket was left before
    std::function<void(const BuildProgress&)> progress;  // may be null
  };

  Preparer(BuildServices services, RequestLimits limits) : services_(std::move(services)), limits_(limits) {}

  // `request` is kept until the plan is there or the ticket was left.
  PlanFlights::Ticket prepare(std::shared_ptr<const v1::PrepareRequest> request, Caller caller);

  // The checks alone; also used by Explain and Tune.
  absl::Status check(std::uint32_t protocol_version, const v1::Graph& graph, const v1::Target& target,
                     const v1::CompileOptions& options, const std::string& model) const;

  // From now on nothing new is accepted.
  void close() { closed_ = true; }
  const BuildServices& services() const { return services_; }

 private:
  const BuildServices services_;
  const RequestLimits limits_;
  void build(const v1::PrepareRequest& request, PlanInputs inputs, const ClientId& client,
             std::shared_ptr<PlanFlights::Flight> flight);
  void answer_if_cached(PlanInputs inputs, const v1::PrepareRequest& request, Caller caller, const absl::Status& why);

  std::atomic<bool> closed_{false};
  PlanFlights flights_;
};

// Whether the nearest stored plan is one that the asker may not know of.
bool is_of_another_user(const cache::MissExplanation& nearest);
// For people, the middle of a sentence: "the nearest of this model differs in target.threads".
std::string explain_nearest(const std::optional<cache::MissExplanation>& nearest);

}  // namespace hearth::daemon
