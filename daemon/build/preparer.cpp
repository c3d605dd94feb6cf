#include "daemon/build/preparer.h"

#include <utility>

namespace hearth::daemon {

absl::Status Preparer::check(std::uint32_t protocol_version, const v1::Graph& graph, const v1::Target& target) const {
  if (closed_) return absl::UnavailableError("the daemon is shutting down");
  if (absl::Status status = check_protocol_version(protocol_version); !status.ok()) return status;
  if (absl::Status status = check_target(target, limits_); !status.ok()) return status;
  return check_graph(graph, limits_);
}

PlanFlights::Ticket Preparer::prepare(const v1::PrepareRequest& request, Caller caller) {
  if (absl::Status status = check(request.protocol_version(), request.graph(), request.target()); !status.ok()) {
    caller.done(status);
    return {};
  }
  const v1::CompileOptions options = without_dump(request.options());
  PlanInputs inputs = plan_inputs(services_, request.graph(), request.target(), options, caller.client.uid);
  const Digest key = cache::key(inputs.material);
  std::optional<PlanResult> found = services_.store->find_recent_plan(inputs.material);
  // Whether blobs are still what they were takes a build to find out.
  if (found && blobs_of(*found->plan, inputs.libraries).empty()) {
    auto built = std::make_shared<BuiltPlan>();
    built->plan = std::move(*found);
    built->found = true;
    caller.done(Prepared{key, std::move(built), PrepareOutcome::kHit});
    return {};
  }
  PlanFlights::Waiter waiter;
  waiter.progress = std::move(caller.progress);
  waiter.done = [key, done = std::move(caller.done)](const PlanFlights::Outcome& outcome, bool first) {
    if (!outcome.ok()) return done(outcome.status());
    const PrepareOutcome how = (*outcome)->found ? PrepareOutcome::kHit
                               : first           ? PrepareOutcome::kMiss
                                                 : PrepareOutcome::kJoined;
    done(Prepared{key, *outcome, how});
  };
  return flights_.join(key, std::move(waiter), [&](std::shared_ptr<PlanFlights::Flight> flight) {
    auto build = std::make_shared<PlanBuild>(services_, request.graph(), request.target(), options, std::move(inputs),
                                             caller.client, flight);
    flight->on_cancel([build] { build->cancel(); });
    build->start();
  });
}

}  // namespace hearth::daemon
