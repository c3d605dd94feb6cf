#include "client/jit/prewarm.h"

#include "client/connection/plan_store.h"
#include "client/jit/request.h"

namespace hearth::client {

absl::StatusOr<PrepareStats> prewarm(const TracedGraph& traced, const v1::Target& target, const PrepareConfig& config) {
  const auto start = std::chrono::steady_clock::now();
  const absl::StatusOr<std::shared_ptr<DaemonChannel>> channel =
      DaemonChannel::get({.socket = config.socket, .auto_start = config.auto_start});
  if (!channel.ok()) return channel.status();
  absl::StatusOr<PrepareStats> stats =
      compile_plan(**channel, request_for<v1::PrepareRequest>(traced, config, target), config, start + config.deadline);
  if (stats.ok())
    stats->prepare_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return stats;
}

}  // namespace hearth::client
