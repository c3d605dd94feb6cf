// prepare() and prewarm() for graphs that are encoded already, and for any target. Inside client/ and for tools.
// Thread-safe. Errors: those of hearth/prepare.h.
#pragma once
#include <string>

#include "absl/status/statusor.h"
#include "client/trace/encoded_graph.h"
#include "hearth/prepare.h"
#include "hearth/v1/artifact.pb.h"

namespace hearth::client {

absl::StatusOr<PreparedPlan> prepare(const EncodedGraph& graph, const PrepareConfig& config = {});

absl::StatusOr<PrepareStats> prewarm(const EncodedGraph& graph, const v1::Target& target,
                                     const PrepareConfig& config = {});

// What PreparedPlan::export_to writes of a plan for `target`, which need not be a device of this machine: nothing is
// loaded here.
absl::StatusOr<PrepareStats> export_plan(const EncodedGraph& graph, const v1::Target& target,
                                         const PrepareConfig& config, const std::string& path,
                                         const ExportConfig& what = {});

}  // namespace hearth::client
