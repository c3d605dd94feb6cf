// Request limits: cheap bounds on an untrusted graph, checked before any work is done for it. The compiler checks
// meaning (shapes, dtypes, bounds); this file only keeps sizes finite. Stateless, thread-safe.
// Errors: FAILED_PRECONDITION for another version, INVALID_ARGUMENT naming the node and the limit.
//   HEARTH_RETURN_IF_ERROR(check_graph(request.graph(), limits));
#pragma once
#include <absl/status/status.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status_macros.h"
#include "hearth/v1/artifact.pb.h"
#include "hearth/v1/graph.pb.h"

namespace hearth::daemon {

struct RequestLimits {
  std::size_t graph_bytes = 64u << 20;
  std::size_t nodes = 200'000;             // those of loops' bodies and the loops themselves counted
  std::size_t constant_bytes = 32u << 20;  // of all nodes together
  std::size_t outputs = 4'096;
  std::size_t vars = 256;
  std::size_t rank = 32;  // axes and expressions of one node count half a pair each
  std::size_t expression_tokens = 256;
  std::size_t inputs = 4'096;      // of one node
  std::size_t name_bytes = 4'096;  // of nodes, inputs, outputs, variables and the model
  std::size_t parts = 256;         // of one variable's range; how many plans they may make together is the compiler's
  std::size_t target_features = 1'024;
};

absl::Status check_protocol_version(std::uint32_t version);
absl::Status check_graph(const v1::Graph& graph, const RequestLimits& limits);
absl::Status check_target(const v1::Target& target, const RequestLimits& limits);
absl::Status check_options(const v1::CompileOptions& options, const RequestLimits& limits);
// What the client calls the model.
absl::Status check_model_name(const std::string& name, const RequestLimits& limits);

}  // namespace hearth::daemon
