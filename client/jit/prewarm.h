// Compiles into the daemon's cache for a target, which need not be a device of this machine, and loads nothing.
// Thread-safe. Errors: those of prepare() (client/jit/jit.h) that come from the daemon.
//
//   absl::StatusOr<PrepareStats> stats = prewarm(traced, *runtime::named_target("vulkan:lavapipe"));
#pragma once
#include "absl/status/statusor.h"
#include "client/jit/jit.h"
#include "hearth/v1/artifact.pb.h"

namespace hearth::client {

absl::StatusOr<PrepareStats> prewarm(const TracedGraph& traced, const v1::Target& target,
                                     const PrepareConfig& config = {});

}  // namespace hearth::client
