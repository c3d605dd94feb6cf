#include "hearth/prewarm.h"

#include "base/cancellation.h"
#include "client/connection/plan_fetcher.h"
#include "client/jit/prepare_encoded.h"
#include "client/jit/request.h"
#include "client/trace/encoded_graph.h"
#include "runtime/devices/named_target.h"

namespace hearth::client {

absl::StatusOr<PrepareStats> prewarm(const EncodedGraph& graph, const v1::Target& target, const PrepareConfig& config) {
  const auto start = std::chrono::steady_clock::now();
  const CancelScope scope(config.cancelled);
  const absl::StatusOr<std::shared_ptr<DaemonChannel>> channel =
      DaemonChannel::get({.socket = config.socket, .auto_start = config.auto_start});
  if (!channel.ok()) return channel.status();
  absl::StatusOr<PrepareStats> stats =
      compile_plan(**channel, request_for<v1::PrepareRequest>(graph, config, target), config, start + config.deadline);
  if (stats.ok())
    stats->prepare_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return stats;
}

absl::StatusOr<PrepareStats> prewarm(const TracedGraph& traced, const std::string& target,
                                     const PrepareConfig& config) {
  const absl::StatusOr<v1::Target> named = runtime::named_target(target);
  if (!named.ok()) return named.status();
  return prewarm(traced.encoded(), *named, config);
}

}  // namespace hearth::client
