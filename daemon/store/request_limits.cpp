#include "daemon/store/request_limits.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/kernel_abi.h"
#include "base/status_macros.h"
#include "proto/target_limits.h"
#include "proto/versions.h"

namespace hearth::daemon {
namespace {

// `setting`: the daemon's that holds the limit; empty for a limit that is none of its settings.
absl::Status over(const std::string& what, std::size_t value, std::size_t limit, const std::string& setting = "") {
  const std::string remedy = setting.empty() ? "" : absl::StrCat(", the daemon's setting ", setting);
  return absl::InvalidArgumentError(absl::StrCat(what, ": ", value, " exceeds the limit of ", limit, remedy));
}

absl::Status check_name(const std::string& what, const std::string& name, const RequestLimits& limits) {
  return name.size() > limits.name_bytes ? over(what, name.size(), limits.name_bytes) : absl::OkStatus();
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
  HEARTH_RETURN_IF_ERROR(check_name(where("name bytes"), node.name(), limits));
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

// Nodes and outputs of the graph itself or of a loop's body.
absl::Status check_nodes(const v1::Graph& graph, const RequestLimits& limits) {
  const auto num_outputs = static_cast<std::size_t>(graph.outputs_size());
  if (num_outputs > limits.outputs) return over("graph outputs", num_outputs, limits.outputs);
  for (int i = 0; i < graph.nodes_size(); ++i) {
    HEARTH_RETURN_IF_ERROR(check_node(graph, i, limits));
  }
  for (const v1::GraphOutput& output : graph.outputs()) {
    HEARTH_RETURN_IF_ERROR(check_name("name bytes of an output", output.name(), limits));
    if (output.node() >= static_cast<std::uint32_t>(graph.nodes_size())) {
      return absl::InvalidArgumentError(
          absl::StrCat("output '", output.name(), "' names node ", output.node(), " of ", graph.nodes_size()));
    }
  }
  return absl::OkStatus();
}

absl::Status check_loop(const v1::Loop& loop, const RequestLimits& limits) {
  if (loop.body().loops_size() > 0) return absl::InvalidArgumentError("its body has loops of its own");
  const auto num_tokens = static_cast<std::size_t>(loop.count().tokens_size());
  if (num_tokens > limits.expression_tokens)
    return over("expression tokens of its count", num_tokens, limits.expression_tokens);
  const auto num_collected = static_cast<std::size_t>(loop.collected_size());
  if (num_collected > limits.inputs) return over("carried values", num_collected, limits.inputs);
  return check_nodes(loop.body(), limits);
}

// Bytes of all constants together.
std::size_t constant_bytes_of(const v1::Graph& graph) {
  std::size_t bytes = 0;
  for (const v1::Node& node : graph.nodes()) bytes += node.data().size();
  for (const v1::Loop& loop : graph.loops()) bytes += constant_bytes_of(loop.body());
  return bytes;
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
  if (bytes > limits.graph_bytes) return over("graph bytes", bytes, limits.graph_bytes, "max_graph");
  if (graph.nodes_size() == 0) return absl::InvalidArgumentError("the graph has no nodes");
  if (graph.outputs_size() == 0) return absl::InvalidArgumentError("the graph has no outputs");
  auto num_nodes = static_cast<std::size_t>(graph.nodes_size() + graph.loops_size());
  for (const v1::Loop& loop : graph.loops()) num_nodes += static_cast<std::size_t>(loop.body().nodes_size());
  if (num_nodes > limits.nodes) return over("graph nodes", num_nodes, limits.nodes, "max_nodes");
  if (static_cast<std::size_t>(graph.vars_size()) > limits.vars) {
    return over("graph variables", static_cast<std::size_t>(graph.vars_size()), limits.vars);
  }
  for (const v1::Variable& variable : graph.vars()) {
    HEARTH_RETURN_IF_ERROR(check_name("name bytes of a variable", variable.name(), limits));
    const auto num_parts = static_cast<std::size_t>(std::max(variable.ends_size(), variable.points_size()));
    if (num_parts > limits.parts) return over("parts of a variable's range", num_parts, limits.parts);
  }
  if (graph.carried_size() > graph.outputs_size()) {
    return over("carried outputs", static_cast<std::size_t>(graph.carried_size()),
                static_cast<std::size_t>(graph.outputs_size()));
  }
  for (const v1::CarriedInput& carried : graph.carried()) {
    HEARTH_RETURN_IF_ERROR(check_name("name bytes of a carried output", carried.output(), limits));
    HEARTH_RETURN_IF_ERROR(check_name("name bytes of a carried input", carried.input(), limits));
    if (static_cast<std::size_t>(carried.storage_size()) > limits.rank)
      return over("axes of a carried output", static_cast<std::size_t>(carried.storage_size()), limits.rank);
  }
  HEARTH_RETURN_IF_ERROR(check_nodes(graph, limits));
  for (int i = 0; i < graph.loops_size(); ++i) {
    if (absl::Status status = check_loop(graph.loops(i), limits); !status.ok())
      return absl::Status(status.code(), absl::StrCat("loop ", i, ": ", status.message()));
  }
  if (const std::size_t bytes_of_constants = constant_bytes_of(graph); bytes_of_constants > limits.constant_bytes) {
    return over("constant bytes of the graph (pass large tensors as parameters)", bytes_of_constants,
                limits.constant_bytes, "max_constants");
  }
  return absl::OkStatus();
}

absl::Status check_target(const v1::Target& target, const RequestLimits& limits) {
  if (target.device().empty()) return absl::InvalidArgumentError("the target names no device");
  if (static_cast<std::size_t>(target.features_size()) > limits.target_features) {
    return over("target features", static_cast<std::size_t>(target.features_size()), limits.target_features);
  }
  const std::pair<const char*, const std::string*> texts[] = {{"bytes of target.device", &target.device()},
                                                              {"bytes of target.triple", &target.triple()},
                                                              {"bytes of target.arch", &target.arch()}};
  for (const auto& [what, text] : texts) {
    if (text->size() > kMaxTargetTextBytes) return over(what, text->size(), kMaxTargetTextBytes);
  }
  for (const std::string& feature : target.features()) {
    if (feature.size() > kMaxTargetTextBytes)
      return over("bytes of one of target.features", feature.size(), kMaxTargetTextBytes);
  }
  if (target.abi_version() != HEARTH_KERNEL_ABI_VERSION) {
    return absl::FailedPreconditionError(absl::StrCat("kernel ABI version ", target.abi_version(),
                                                      " is not built here; this daemon builds ",
                                                      HEARTH_KERNEL_ABI_VERSION));
  }
  return absl::OkStatus();
}

absl::Status check_options(const v1::CompileOptions& options, const RequestLimits& limits) {
  if (options.opt_level() > kMaxOptLevel) return over("options.opt_level", options.opt_level(), kMaxOptLevel);
  const auto num_values = static_cast<std::size_t>(options.var_values_size());
  return num_values > limits.vars ? over("options.var_values", num_values, limits.vars) : absl::OkStatus();
}

absl::Status check_model_name(const std::string& name, const RequestLimits& limits) {
  return check_name("bytes of the model's name", name, limits);
}

}  // namespace hearth::daemon
