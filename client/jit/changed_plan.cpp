// What a prepared plan becomes with other parameters, or for another number of threads: neither needs a compiler.
#include <map>
#include <memory>
#include <string>

#include "base/status_macros.h"
#include "base/text.h"
#include "client/connection/daemon_weights.h"
#include "client/jit/prepared_state.h"

namespace hearth::client {
namespace {

constexpr std::chrono::seconds kSharingLimit{60};  // of what the daemon is asked for weights; none of it is needed

std::shared_ptr<PreparedPlan::State> state_like(const std::shared_ptr<const PreparedPlan::State>& from) {
  auto state = std::make_shared<PreparedPlan::State>();
  state->plan = from->plan;
  state->stats = from->stats;
  state->device = from->device;
  state->threads = from->threads;
  state->keep_intermediates = from->keep_intermediates;
  state->share_weights = from->share_weights;
  state->carried = from->carried;
  state->fixed_inputs = from->fixed_inputs;
  state->source = from->source;
  state->plan_bytes = from->plan_bytes;
  state->source.plan = state->plan_bytes;
  state->call = from->call;
  state->channel = from->channel;
  state->lease = from->lease;
  return state;
}

}  // namespace

absl::StatusOr<PreparedPlan> PreparedPlan::with_parameters(
    const std::map<std::string, ParameterData>& parameters) const {
  const std::shared_ptr<State> state = state_like(state_);
  for (const auto& [name, data] : parameters) {
    const auto known = state->source.parameters.find(name);
    if (known == state->source.parameters.end())
      return absl::InvalidArgumentError(str_cat("the plan has no parameter '", name, "'"));
    if (data.size != known->second.size) {
      return absl::InvalidArgumentError(
          str_cat("parameter '", name, "' has ", data.size, " bytes; expected ", known->second.size));
    }
    known->second = {data.data, data.size, data.owner};
  }
  state->source.device = &state->plan->device();
  const bool shares = state->share_weights && state->channel != nullptr && state->plan->device().shares_weights();
  std::optional<DaemonWeights> weights;
  if (shares) {
    weights.emplace(state->channel->socket_path(), std::chrono::steady_clock::now() + kSharingLimit,
                    state->channel->last_peer(), state->channel->take_files_connection());
  }
  absl::StatusOr<std::shared_ptr<const runtime::LoadedPlan>> plan =
      runtime::LoadedPlan::create(state->source, weights ? &*weights : nullptr);
  if (weights) state->channel->keep_files_connection(weights->leave());
  HEARTH_RETURN_IF_ERROR(plan.status());
  state->plan = *std::move(plan);
  const runtime::WeightFacts& facts = state->plan->weights();
  state->stats.once_launches = facts.once_launches;
  state->stats.shared_weight_bytes = facts.shared ? facts.block_bytes : 0;
  state->stats.weights_found = facts.found;
  return PreparedPlan(state);
}

absl::StatusOr<PreparedPlan> PreparedPlan::with_threads(int threads) const {
  const std::shared_ptr<State> state = state_like(state_);
  HEARTH_ASSIGN_OR_RETURN(state->threads, choose_threads(threads));
  state->source.host.threads = state->threads;
  return PreparedPlan(state);
}

}  // namespace hearth::client
