#include "hearth/prewarm.h"

#include "base/cancellation.h"
#include "base/status_macros.h"
#include "client/connection/plan_fetcher.h"
#include "client/jit/prepare_encoded.h"
#include "client/jit/request.h"
#include "client/trace/encoded_graph.h"
#include "runtime/devices/named_target.h"

namespace hearth::client {

absl::StatusOr<PrepareStats> prewarm(const EncodedGraph& graph, const v1::Target& target, const PrepareConfig& config) {
  const auto start = std::chrono::steady_clock::now();
  const CancelScope scope(config.cancelled);
  HEARTH_ASSIGN_OR_RETURN(const std::shared_ptr<DaemonChannel> channel,
                          DaemonChannel::get({.socket = config.socket, .auto_start = config.auto_start}));
  absl::StatusOr<PrepareStats> stats =
      compile_plan(*channel, request_for<v1::PrepareRequest>(graph, config, target), config, start + config.deadline);
  if (stats.ok())
    stats->prepare_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return stats;
}

absl::StatusOr<PrepareStats> prewarm(const TracedGraph& traced, const std::string& target,
                                     const PrepareConfig& config) {
  HEARTH_ASSIGN_OR_RETURN(const v1::Target named, runtime::named_target(target));
  return prewarm(traced.encoded(), named, config);
}

}  // namespace hearth::client
