#include "daemon/prepare/preparer.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "daemon/prepare/node_sources.h"
#include "daemon/prepare/remote_tier.h"

namespace hearth::daemon {
namespace {

Prepared answer_of(FoundPlan found) {
  auto built = std::make_shared<BuiltPlan>();
  built->plan = std::move(found.plan);
  built->key = found.key;
  built->found = true;
  return {found.key, std::move(built), PrepareOutcome::kHit};
}

using Done = std::function<void(absl::StatusOr<Prepared>)>;

// What a cache beyond this node has answered, for whoever reads that a plan is not there.
std::string remote_words(const BuildServices& services, const PlanInputs& inputs, const absl::Status& answer) {
  if (services.remote == nullptr) return "";
  if (inputs.is_private)
    return "; it is not asked for in the remote cache, since its graph has constant data or a user's part";
  if (absl::IsNotFound(answer)) return "; the remote cache was asked and does not have it";
  const absl::Status why = answer.ok() ? services.remote->health() : answer;
  return absl::StrCat("; the remote cache ", answer.ok() ? "is not asked for now: " : "was asked: ", why.message());
}

void refuse(const BuildServices& services, const PlanQuery& query, const ClientId& client, const absl::Status& why,
            const std::string& remote, const Done& done) {
  if (!why.ok()) {
    services.accounts->count_over_quota(client.uid);
    return done(why);
  }
  services.metrics->sealed_miss();
  services.explanations->post_for(client, [services, query, remote, done] {
    const v1::Target& target = query.target;
    done(absl::FailedPreconditionError(absl::StrCat(
        "sealed: nothing is compiled, and the plan ", to_hex(cache::key(query.inputs.flight())).substr(0, 12), " for ",
        target.device(), target.arch().empty() ? "" : ":", target.arch(), " (", target.triple(), ") and ",
        target.threads(), target.threads() == 1 ? " thread" : " threads", " is not in the cache; ",
        explain_nearest(explain_miss(services, query.inputs)), remote, ": fill the cache with hearth prewarm")));
  });
}

}  // namespace

absl::Status Preparer::check(std::uint32_t protocol_version, const v1::Graph& graph, const v1::Target& target,
                             const v1::CompileOptions& options, const std::string& model) const {
  if (closed_) return absl::UnavailableError("the daemon is shutting down");
  HEARTH_RETURN_IF_ERROR(check_protocol_version(protocol_version));
  HEARTH_RETURN_IF_ERROR(check_model_name(model, limits_));
  HEARTH_RETURN_IF_ERROR(check_options(options, limits_));
  HEARTH_RETURN_IF_ERROR(check_target(target, limits_));
  return check_graph(graph, limits_);
}

// Where a miss is an error, that of `why` or, with OK, what was missing for whoever fills the cache. Reads the disk, so
// on the executor.
void Preparer::answer_if_cached(PlanInputs inputs, const v1::PrepareRequest& request, Caller caller,
                                const absl::Status& why) {
  PlanQuery query{std::move(inputs), request.target(), without_dump(request.options()), caller.client.uid,
                  request.model()};
  const ClientId client = caller.client;
  services_.executor->post_for(
      client, [services = services_, client, query = std::move(query), why, done = std::move(caller.done)] {
        std::optional<FoundPlan> found = services.sealed_takes_older_tuning
                                             ? find_plan_of_any_tuning(services, query.inputs)
                                             : find_plan(services, query.inputs);
        if (found) return done(answer_of(*std::move(found)));
        const bool asks = services.remote != nullptr && !query.inputs.is_private && services.remote->is_asked();
        if (!asks) return refuse(services, query, client, why, remote_words(services, query.inputs, {}), done);
        services.remote->find_sealed_plan(query, [services, query, client, why, done](RemoteFound<FoundPlan> found) {
          if (found.result) return done(answer_of(*std::move(found.result)));
          refuse(services, query, client, why, remote_words(services, query.inputs, found.status), done);
        });
      });
}

std::string explain_nearest(const std::optional<cache::MissExplanation>& nearest) {
  // Another user's: nothing is said of it.
  if (!nearest || is_of_another_user(*nearest)) return "no plan of this model is";
  const bool is_same_graph =
      !std::ranges::any_of(nearest->differing, [](const auto& part) { return part == "graph.nodes"; });
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < nearest->differing.size(); ++i) {
    const bool has_values = i < nearest->values.size() && !nearest->values[i].empty();
    parts.push_back(absl::StrCat(nearest->differing[i], has_values ? " (" + nearest->values[i] + ")" : ""));
  }
  return absl::StrCat("the nearest ", is_same_graph ? "of this model" : "of a graph like it", " differs in ",
                      absl::StrJoin(parts, ", "));
}

bool is_of_another_user(const cache::MissExplanation& nearest) {
  return std::find(nearest.differing.begin(), nearest.differing.end(), KeyNamespace::kPart) != nearest.differing.end();
}

PlanFlights::Ticket Preparer::prepare(std::shared_ptr<const v1::PrepareRequest> shared, Caller caller) {
  const v1::PrepareRequest& request = *shared;
  if (absl::Status status =
          check(request.protocol_version(), request.graph(), request.target(), request.options(), request.model());
      !status.ok()) {
    caller.done(status);
    return {};
  }
  PlanInputs inputs =
      plan_inputs(services_, request.graph(), request.target(), without_dump(request.options()), caller.client.uid);
  std::optional<FoundPlan> found = find_recent_plan(services_, inputs);
  // Whether blobs are still what they were takes a build to find out.
  if (found && blobs_of(*found->plan.plan, inputs.libraries).empty()) {
    caller.done(answer_of(*std::move(found)));
    return {};
  }
  if (request.sealed() || services_.sealed) {
    answer_if_cached(std::move(inputs), request, std::move(caller), absl::OkStatus());
    return {};
  }
  if (absl::Status over_quota = services_.accounts->check(caller.client.uid); !over_quota.ok()) {
    answer_if_cached(std::move(inputs), request, std::move(caller), over_quota);
    return {};
  }
  PlanFlights::Waiter waiter;
  waiter.client = caller.client;
  waiter.progress = std::move(caller.progress);
  waiter.done = [done = std::move(caller.done), shared](const PlanFlights::Outcome& outcome, bool first) {
    if (!outcome.ok()) return done(NodeSources(shared->graph()).name(outcome.status()));
    const PrepareOutcome how = (*outcome)->found ? PrepareOutcome::kHit
                               : first           ? PrepareOutcome::kMiss
                                                 : PrepareOutcome::kJoined;
    done(Prepared{(*outcome)->key, *outcome, how});
  };
  waiter.again = [this, shared, client = caller.client](std::shared_ptr<PlanFlights::Flight> flight) {
    build(*shared,
          plan_inputs(services_, shared->graph(), shared->target(), without_dump(shared->options()), client.uid),
          client, std::move(flight));
  };
  const Digest key = cache::key(inputs.flight());
  return flights_.join(key, std::move(waiter), [&](std::shared_ptr<PlanFlights::Flight> flight) {
    build(request, std::move(inputs), caller.client, std::move(flight));
  });
}

void Preparer::build(const v1::PrepareRequest& request, PlanInputs inputs, const ClientId& client,
                     std::shared_ptr<PlanFlights::Flight> flight) {
  auto build =
      std::make_shared<PlanBuild>(services_, request.graph(), request.target(), without_dump(request.options()),
                                  request.model(), std::move(inputs), client, flight);
  flight->on_cancel([build] { build->cancel(); });
  build->start();
}

}  // namespace hearth::daemon
