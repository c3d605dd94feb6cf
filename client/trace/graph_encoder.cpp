#include "client/trace/encoded_graph.h"

#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "base/utf8.h"
#include "client/tensor/dim_encoding.h"
#include "client/trace/node.h"
#include "client/trace/recorded_loop.h"
#include "proto/versions.h"

namespace hearth::client {
namespace {

// Post-order from the outputs down to `known`, iterative; the order depends on the graph alone.
std::vector<const Node*> topological_order(const std::vector<Tensor>& outputs, const std::vector<Tensor>& known = {}) {
  std::vector<const Node*> order;
  std::unordered_set<const Node*> seen;  // looked up only, never iterated
  for (const Tensor& tensor : known) seen.insert(tensor.node().get());
  std::vector<std::pair<const Node*, std::size_t>> stack;
  for (const Tensor& tensor : outputs) {
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
  for (const Dim& arg : node.args) encode(arg, vars, out.add_args());
  out.set_data(node.data);
  out.set_name(node.name);
  return out;
}

// No message can carry another name: gRPC's own error would name nothing.
const std::string& require_utf8(const char* what, const std::string& name) {
  if (is_utf8(name)) return name;
  throw JitError(absl::InvalidArgumentError(str_cat(what, " '", name, "': its name is not UTF-8; rename it")));
}

// The nodes of one graph while it is written: of the traced graph or of a loop's body.
class NodeWriter {
 public:
  NodeWriter(v1::Graph& graph, const std::vector<Variable>& vars) : graph_(graph), vars_(vars) {}

  // Whether the node is not there yet: equal nodes are sent once.
  bool add(const Node* key, v1::Node encoded, const std::string& provenance) {
    const auto [found, fresh] = by_bytes_.try_emplace(encoded.SerializeAsString(), graph_.nodes_size());
    index_[key] = found->second;
    if (!fresh) return false;
    if (!provenance.empty()) {
      v1::Provenance* out = graph_.add_provenance();
      out->set_node(graph_.nodes_size());
      out->set_text(valid_utf8(provenance));  // for people; a message's text must be UTF-8
    }
    *graph_.add_nodes() = std::move(encoded);
    return true;
  }
  v1::Node encoded(const Node& node) const { return encode_node(node, vars_, index_); }
  std::uint32_t index_of(const Tensor& tensor) const { return index_.at(tensor.node().get()); }

 private:
  v1::Graph& graph_;
  const std::vector<Variable>& vars_;
  std::unordered_map<const Node*, std::uint32_t> index_;
  std::unordered_map<std::string, std::uint32_t> by_bytes_;
};

void encode_loop(const RecordedLoop& loop, const std::vector<Variable>& vars, v1::Loop* out) {
  v1::Graph& body = *out->mutable_body();
  body.set_version(kGraphVersion);
  NodeWriter writer(body, vars);
  for (std::size_t i = 0; i < loop.operands.size(); ++i) {
    v1::Node input;
    input.set_op(v1::INPUT);
    input.set_dtype(static_cast<v1::DType>(loop.operands[i].dtype()));
    for (const Dim& length : loop.operands[i].shape()) encode(length, vars, input.add_args());
    input.set_name(str_cat(i));
    writer.add(loop.operands[i].node().get(), std::move(input), loop.operands[i].node()->provenance);
  }
  for (const Node* node : topological_order(loop.outputs, loop.operands))
    writer.add(node, writer.encoded(*node), node->provenance);
  for (const Tensor& value : loop.outputs) {
    v1::GraphOutput* output = body.add_outputs();
    output->set_name(str_cat(body.outputs_size() - 1));
    output->set_node(writer.index_of(value));
  }
  encode(loop.count, vars, out->mutable_count());
  out->set_carried(static_cast<std::uint32_t>(loop.carried));
  out->set_sliced(static_cast<std::uint32_t>(loop.sliced));
  out->set_reverse(loop.reverse);
  for (const bool collected : loop.collected) out->add_collected(collected);
}

void collect_variables(const Node& node, std::vector<Variable>& vars) {
  for (const Dim& arg : node.args) arg.collect_variables(vars);
  if (!node.loop) return;
  node.loop->count.collect_variables(vars);
  for (const Tensor& operand : node.loop->operands) {
    for (const Dim& length : operand.shape()) length.collect_variables(vars);
  }
  for (const Node* inner : topological_order(node.loop->outputs, node.loop->operands)) collect_variables(*inner, vars);
}

EncodedGraph encode_outputs(const NamedTensors& outputs) {
  EncodedGraph traced;
  v1::Graph& graph = traced.graph;
  graph.set_version(kGraphVersion);
  std::vector<Tensor> values;
  for (const auto& [name, tensor] : outputs) values.push_back(tensor);
  const std::vector<const Node*> order = topological_order(values);
  std::vector<Variable> vars;
  std::set<const RecordedLoop*> met;
  for (const Node* node : order) {
    if (!node->loop || met.insert(node->loop.get()).second) collect_variables(*node, vars);
  }
  for (const Variable& variable : vars) {
    v1::Variable* out = graph.add_vars();
    out->set_name(require_utf8("variable", variable.name));
    out->set_min(variable.min);
    out->set_max(variable.max);
    if (variable.unit > 1) out->set_unit(variable.unit);
    out->mutable_ends()->Assign(variable.parts.ends.begin(), variable.parts.ends.end());
    out->mutable_points()->Assign(variable.parts.points.begin(), variable.parts.points.end());
  }
  NodeWriter writer(graph, vars);
  std::map<const RecordedLoop*, std::int64_t> loops;  // looked up, never iterated
  std::set<std::string> leaf_names;
  for (const Node* node : order) {
    require_utf8(node->op == v1::PARAMETER ? "parameter" : "input", node->name);
    v1::Node encoded = writer.encoded(*node);
    std::string name = node->name;
    if (node->is_unnamed) {
      name = str_cat("unnamed/", traced.unnamed.size());
      traced.unnamed.insert(name);
      encoded.set_name(name);
    }
    if (node->loop) {
      const auto [loop, is_new] = loops.try_emplace(node->loop.get(), graph.loops_size());
      if (is_new) encode_loop(*node->loop, vars, graph.add_loops());
      encoded.clear_axes();
      encoded.add_axes(loop->second);
      encoded.add_axes(node->axes[0]);
    }
    const bool fresh = writer.add(node, std::move(encoded), node->provenance);
    const bool is_parameter = node->op == v1::PARAMETER;
    if (!fresh) {
      if (is_parameter && traced.parameters[name].data != node->parameter.data) {
        throw JitError(absl::InvalidArgumentError(
            str_cat("two parameters are named '", name, "' but hold different bytes; rename one")));
      }
      continue;
    }
    if ((is_parameter || node->op == v1::INPUT) && !leaf_names.insert(name).second) {
      throw JitError(absl::InvalidArgumentError(str_cat(
          "the name '", name, "' is used by two inputs or parameters of different kind, shape or dtype; rename one")));
    }
    if (is_parameter) traced.parameters[name] = node->parameter;
    traced.shapes.push_back(node->shape);
    traced.calls.push_back({node->called, node->call});
  }
  for (const auto& [name, tensor] : outputs) {
    v1::GraphOutput* out = graph.add_outputs();
    out->set_name(require_utf8("output", name));
    out->set_node(writer.index_of(tensor));
  }
  return traced;
}

}  // namespace

absl::StatusOr<EncodedGraph> encode_graph(const NamedTensors& outputs) {
  if (outputs.empty()) return absl::InvalidArgumentError("a graph needs at least one output");
  std::set<std::string> names;
  for (const auto& [name, tensor] : outputs) {
    if (name.empty()) return absl::InvalidArgumentError("an output has an empty name");
    if (tensor.empty()) return absl::InvalidArgumentError(str_cat("output '", name, "' is an empty tensor"));
    if (!names.insert(name).second) {
      return absl::InvalidArgumentError(str_cat("two outputs are named '", name, "'"));
    }
  }
  return catch_jit_error([&] { return encode_outputs(outputs); });
}

}  // namespace hearth::client
