#include <set>
#include <unordered_map>
#include <unordered_set>

#include "client/tracer.h"
#include "proto/versions.h"
#include "runtime/text.h"
#include "runtime/utf8.h"

namespace hearth::client {
namespace {

// Post-order from the outputs, iterative; the order depends on the graph alone.
std::vector<const Node*> topological_order(const NamedTensors& outputs) {
  std::vector<const Node*> order;
  std::unordered_set<const Node*> seen;  // looked up only, never iterated
  std::vector<std::pair<const Node*, std::size_t>> stack;
  for (const auto& [name, tensor] : outputs) {
    if (seen.insert(tensor.node().get()).second) stack.emplace_back(tensor.node().get(), 0);
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      if (next == node->inputs.size()) {
        order.push_back(node);
        stack.pop_back();
        continue;
      }
      const Node* input = node->inputs[next++].node().get();
      if (seen.insert(input).second) stack.emplace_back(input, 0);
    }
  }
  return order;
}

v1::Node encode_node(const Node& node, const std::vector<Variable>& vars,
                     const std::unordered_map<const Node*, std::uint32_t>& index) {
  v1::Node out;
  out.set_op(node.op);
  out.set_dtype(static_cast<v1::DType>(node.dtype));
  for (const Tensor& input : node.inputs) out.add_inputs(index.at(input.node().get()));
  for (std::int64_t axis : node.axes) out.add_axes(axis);
  for (const Dim& arg : node.args) arg.encode(vars, out.add_args());
  out.set_data(node.data);
  out.set_name(node.name);
  return out;
}

// No message can carry another name: gRPC's own error would name nothing.
const std::string& require_utf8(const char* what, const std::string& name) {
  if (is_utf8(name)) return name;
  throw JitError(absl::InvalidArgumentError(str_cat(what, " '", name, "': its name is not UTF-8; rename it")));
}

TracedGraph encode(const NamedTensors& outputs) {
  TracedGraph traced;
  v1::Graph& graph = traced.graph;
  graph.set_version(kGraphVersion);
  const std::vector<const Node*> order = topological_order(outputs);
  std::vector<Variable> vars;
  for (const Node* node : order) {
    for (const Dim& arg : node->args) arg.collect_variables(vars);
  }
  for (const Variable& variable : vars) {
    v1::Variable* out = graph.add_vars();
    out->set_name(require_utf8("variable", variable.name));
    out->set_min(variable.min);
    out->set_max(variable.max);
  }
  std::unordered_map<const Node*, std::uint32_t> index;
  std::unordered_map<std::string, std::uint32_t> by_bytes;  // equal nodes are sent once
  std::set<std::string> leaf_names;
  for (const Node* node : order) {
    require_utf8(node->op == v1::PARAMETER ? "parameter" : "input", node->name);
    v1::Node encoded = encode_node(*node, vars, index);
    auto [found, fresh] = by_bytes.try_emplace(encoded.SerializeAsString(), graph.nodes_size());
    index[node] = found->second;
    const bool is_parameter = node->op == v1::PARAMETER;
    if (!fresh) {
      if (is_parameter && traced.parameters[node->name].data != node->parameter.data) {
        throw JitError(absl::InvalidArgumentError(
            str_cat("two parameters are named '", node->name, "' but hold different bytes; rename one")));
      }
      continue;
    }
    if ((is_parameter || node->op == v1::INPUT) && !leaf_names.insert(node->name).second) {
      throw JitError(absl::InvalidArgumentError(
          str_cat("the name '", node->name,
                  "' is used by two inputs or parameters of different kind, shape or dtype; rename one")));
    }
    if (is_parameter) traced.parameters[node->name] = node->parameter;
    if (!node->provenance.empty()) {
      v1::Provenance* provenance = graph.add_provenance();
      provenance->set_node(graph.nodes_size());
      provenance->set_text(valid_utf8(node->provenance));  // for people; a message's text must be UTF-8
    }
    *graph.add_nodes() = std::move(encoded);
    traced.shapes.push_back(node->shape);
  }
  for (const auto& [name, tensor] : outputs) {
    v1::GraphOutput* out = graph.add_outputs();
    out->set_name(require_utf8("output", name));
    out->set_node(index.at(tensor.node().get()));
  }
  return traced;
}

}  // namespace

absl::StatusOr<TracedGraph> encode_graph(const NamedTensors& outputs) {
  if (outputs.empty()) return absl::InvalidArgumentError("a graph needs at least one output");
  std::set<std::string> names;
  for (const auto& [name, tensor] : outputs) {
    if (name.empty()) return absl::InvalidArgumentError("an output has an empty name");
    if (tensor.empty()) return absl::InvalidArgumentError(str_cat("output '", name, "' is an empty tensor"));
    if (!names.insert(name).second) {
      return absl::InvalidArgumentError(str_cat("two outputs are named '", name, "'"));
    }
  }
  return catch_jit_error([&] { return encode(outputs); });
}

}  // namespace hearth::client
