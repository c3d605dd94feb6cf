#include "daemon/request_limits.h"

#include <absl/strings/str_cat.h>

#include <string>

#include "proto/versions.h"
#include "runtime/kernel_abi.h"

namespace hearth::daemon {
namespace {

absl::Status over(const std::string& what, std::size_t value, std::size_t limit) {
  return absl::InvalidArgumentError(absl::StrCat(what, ": ", value, " exceeds the limit of ", limit));
}

absl::Status check_node(const v1::Graph& graph, int index, const RequestLimits& limits) {
  const v1::Node& node = graph.nodes(index);
  const auto where = [&](const char* what) {
    return absl::StrCat(what, " of node ", index, " (", v1::Op_IsValid(node.op()) ? v1::Op_Name(node.op()) : "?", ")");
  };
  const auto size = [](int count) { return static_cast<std::size_t>(count); };
  if (size(node.inputs_size()) > limits.inputs) return over(where("inputs"), size(node.inputs_size()), limits.inputs);
  if (size(node.axes_size()) > limits.rank) return over(where("axes"), size(node.axes_size()), limits.rank);
  if (size(node.args_size()) > 2 * limits.rank) return over(where("args"), size(node.args_size()), 2 * limits.rank);
  if (node.name().size() > limits.name_bytes) return over(where("name bytes"), node.name().size(), limits.name_bytes);
  for (const v1::Expr& expr : node.args()) {
    if (size(expr.tokens_size()) > limits.expression_tokens) {
      return over(where("expression tokens"), size(expr.tokens_size()), limits.expression_tokens);
    }
  }
  for (std::uint32_t input : node.inputs()) {
    if (input >= static_cast<std::uint32_t>(index)) {
      return absl::InvalidArgumentError(
          absl::StrCat(where("input"), " is node ", input, ": nodes must stand in topological order"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status check_protocol_version(std::uint32_t version) {
  if (version == kProtocolVersion) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("protocol version ", version,
                                                    " is not spoken here; this daemon speaks ", kProtocolVersion,
                                                    ": use client and daemon of one release"));
}

absl::Status check_graph(const v1::Graph& graph, const RequestLimits& limits) {
  if (graph.version() != kGraphVersion) {
    return absl::FailedPreconditionError(absl::StrCat("graph version ", graph.version(),
                                                      " is not understood here; this daemon understands ",
                                                      kGraphVersion, ": use client and daemon of one release"));
  }
  const std::size_t bytes = graph.ByteSizeLong();
  if (bytes > limits.graph_bytes) return over("graph bytes", bytes, limits.graph_bytes);
  if (graph.nodes_size() == 0) return absl::InvalidArgumentError("the graph has no nodes");
  if (graph.outputs_size() == 0) return absl::InvalidArgumentError("the graph has no outputs");
  const std::size_t num_nodes = static_cast<std::size_t>(graph.nodes_size());
  if (num_nodes > limits.nodes) return over("graph nodes", num_nodes, limits.nodes);
  if (static_cast<std::size_t>(graph.outputs_size()) > limits.outputs) {
    return over("graph outputs", static_cast<std::size_t>(graph.outputs_size()), limits.outputs);
  }
  if (static_cast<std::size_t>(graph.vars_size()) > limits.vars) {
    return over("graph variables", static_cast<std::size_t>(graph.vars_size()), limits.vars);
  }
  std::size_t constant_bytes = 0;
  for (int i = 0; i < graph.nodes_size(); ++i) {
    if (absl::Status status = check_node(graph, i, limits); !status.ok()) return status;
    constant_bytes += graph.nodes(i).data().size();
  }
  if (constant_bytes > limits.constant_bytes) {
    return over("constant bytes of the graph (pass large tensors as parameters)", constant_bytes,
                limits.constant_bytes);
  }
  for (const v1::GraphOutput& output : graph.outputs()) {
    if (output.node() >= num_nodes) {
      return absl::InvalidArgumentError(
          absl::StrCat("output '", output.name(), "' names node ", output.node(), " of ", num_nodes));
    }
  }
  return absl::OkStatus();
}

absl::Status check_target(const v1::Target& target, const RequestLimits& limits) {
  if (target.device().empty()) return absl::InvalidArgumentError("the target names no device");
  if (static_cast<std::size_t>(target.features_size()) > limits.target_features) {
    return over("target features", static_cast<std::size_t>(target.features_size()), limits.target_features);
  }
  if (target.abi_version() != HEARTH_KERNEL_ABI_VERSION) {
    return absl::FailedPreconditionError(absl::StrCat("kernel ABI version ", target.abi_version(),
                                                      " is not built here; this daemon builds ",
                                                      HEARTH_KERNEL_ABI_VERSION));
  }
  return absl::OkStatus();
}

}  // namespace hearth::daemon
