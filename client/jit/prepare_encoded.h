// prepare() and prewarm() for graphs that are encoded already, and for any target. Inside client/ and for tools.
// Thread-safe. Errors: those of hearth/prepare.h.
#pragma once
#include "absl/status/statusor.h"
#include "client/trace/encoded_graph.h"
#include "hearth/prepare.h"
#include "hearth/v1/artifact.pb.h"

namespace hearth::client {

absl::StatusOr<PreparedPlan> prepare(const EncodedGraph& graph, const PrepareConfig& config = {});

absl::StatusOr<PrepareStats> prewarm(const EncodedGraph& graph, const v1::Target& target,
                                     const PrepareConfig& config = {});

}  // namespace hearth::client
