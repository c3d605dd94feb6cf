// Plan store: from an encoded graph to a loaded plan. Asks the daemon, loads artifacts from its cache by path when it
// is on this host and by stream when not, and asks again once when a cached artifact turns out missing or damaged.
// Stateless; thread-safe. Errors: the daemon's status, or the loader's.
//
//   absl::StatusOr<FetchedPlan> stored = fetch_plan(*channel, *request, traced, config, deadline);
#pragma once
#include <memory>

#include "absl/status/statusor.h"
#include "client/connection/daemon_channel.h"
#include "client/trace/encoded_graph.h"
#include "hearth/prepare.h"
#include "runtime/replay/loaded_plan.h"

namespace hearth::client {

struct FetchedPlan {
  std::shared_ptr<const runtime::LoadedPlan> plan;
  runtime::LoadRequest source;  // of `plan`, but for its bytes:
  std::string plan_bytes;
  PrepareStats stats;  // prepare_ms is the caller's
  std::uint64_t lease_id = 0;
};

// `request`: of request_for(traced, config).
absl::StatusOr<FetchedPlan> fetch_plan(DaemonChannel& channel, v1::PrepareRequest request, const EncodedGraph& traced,
                                       const PrepareConfig& config, DaemonChannel::Deadline deadline);

// Compiles into the daemon's cache and loads nothing: no lease, no weights, and any target.
absl::StatusOr<PrepareStats> compile_plan(DaemonChannel& channel, v1::PrepareRequest request,
                                          const PrepareConfig& config, DaemonChannel::Deadline deadline);

}  // namespace hearth::client
