#include <set>

#include "base/cancellation.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "client/jit/prepare_encoded.h"
#include "client/jit/prepared_state.h"
#include "client/jit/request.h"
#include "runtime/plan/plan.h"

namespace hearth::client {

absl::StatusOr<PrepareStats> export_plan(const EncodedGraph& graph, const v1::Target& target,
                                         const PrepareConfig& config, const std::string& path,
                                         const ExportConfig& what) {
  const auto start = std::chrono::steady_clock::now();
  const CancelScope scope(config.cancelled);
  const auto deadline = start + config.deadline;
  HEARTH_ASSIGN_OR_RETURN(const std::shared_ptr<DaemonChannel> channel,
                          DaemonChannel::get({.socket = config.socket, .auto_start = config.auto_start}));
  HEARTH_ASSIGN_OR_RETURN(const v1::PrepareResult result,
                          channel->prepare(request_for<v1::PrepareRequest>(graph, config, target), deadline));
  auto state = std::make_shared<PreparedPlan::State>();
  state->channel = channel;
  state->lease = std::make_shared<PlanLease>(channel, result.lease_id());  // until the kernels were read
  state->plan_bytes = result.plan();
  state->threads = static_cast<int>(target.threads());
  state->fixed_inputs = std::make_shared<FixedInputs>(config.fixed_inputs);
  HEARTH_ASSIGN_OR_RETURN(const runtime::Plan plan, runtime::parse_plan(state->plan_bytes));
  std::set<std::string> fetched;
  for (const runtime::PlanKernel& kernel : plan.kernels) {
    if (kernel.artifact.empty() || !fetched.insert(kernel.artifact).second) continue;
    HEARTH_ASSIGN_OR_RETURN(std::string code, channel->fetch_artifact(kernel.artifact, deadline));
    if (to_bytes(sha256(code)) != kernel.artifact)
      return absl::DataLossError(str_cat("kernel '", kernel.symbol, "': the daemon sent other code than the plan's"));
    state->source.artifacts.push_back({kernel.artifact, "", std::move(code)});
  }
  for (const auto& [name, data] : graph.parameters) state->source.parameters[name] = {data.data, data.size, data.owner};
  state->stats.kernels = static_cast<std::uint32_t>(plan.kernels.size());
  state->stats.compiled_kernels = result.compiled_kernels();
  const PreparedPlan exported(state);
  HEARTH_RETURN_IF_ERROR(exported.export_to(path, what));
  PrepareStats stats = state->stats;
  stats.prepare_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return stats;
}

}  // namespace hearth::client
