// Compiles into the daemon's cache for a target, which need not be a device of this machine, and loads nothing.
// Thread-safe. Errors: those of prepare() (hearth/prepare.h) that come from the daemon; NotFound for an unknown target.
//
//   absl::StatusOr<PrepareStats> stats = prewarm(traced, "vulkan:lavapipe");
#pragma once
#include <string>

#include "absl/status/statusor.h"
#include "hearth/prepare.h"

#pragma GCC visibility push(default)
namespace hearth::client {

// `target`: a name that `hearth prewarm --target` takes.
absl::StatusOr<PrepareStats> prewarm(const TracedGraph& traced, const std::string& target,
                                     const PrepareConfig& config = {});

}  // namespace hearth::client
#pragma GCC visibility pop
