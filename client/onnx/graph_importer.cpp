#include "client/onnx/graph_importer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "base/text.h"
#include "client/onnx/constant_inputs.h"
#include "client/onnx/constant_values.h"
#include "client/onnx/model_file.h"
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "client/onnx/stored_values.h"
#include "client/tensor/equal_lengths.h"
#include "client/trace/graph_inputs.h"
#include "client/trace/node.h"
#include "hearth/error.h"
#include "hearth/ops/movement.h"
#include "hearth_onnx.pb.h"

namespace hearth::onnx {

std::string node_label(const ::hearth_onnx::NodeProto& node) {
  if (!node.name().empty()) return node.name();
  return node.output_size() > 0 ? node.output(0) : "";
}

std::string operator_name(const ::hearth_onnx::NodeProto& node) {
  return normal_domain(node.domain()).empty() ? node.op_type() : str_cat(node.domain(), "::", node.op_type());
}

int standard_opset(const ::hearth_onnx::ModelProto& model) {
  const Opsets opsets = read_opsets(model);
  if (opsets.empty()) reject_unsupported("a model that names no version of any operators (opset_import)");
  const auto standard = opsets.find("");
  return standard == opsets.end() ? 0 : standard->second;
}

namespace {

int opset_of(const ::hearth_onnx::NodeProto& node, const Opsets& opsets) {
  const auto opset = opsets.find(normal_domain(node.domain()));
  if (opset != opsets.end()) return opset->second;
  reject(str_cat("no version of operator domain '", node.domain(), "' is imported (opset_import)"));
}

}  // namespace

std::string GraphImporter::missing_operator(const ::hearth_onnx::NodeProto& node, const Opsets& opsets,
                                            const Functions& functions) {
  const std::string domain = normal_domain(node.domain());
  if (find_function(functions, called_function(node)) != nullptr) return "";
  const auto found =
      client::catch_jit_error([&] { return &find_operator(domain, node.op_type(), opset_of(node, opsets)); });
  return found.ok() ? "" : std::string(found.status().message());
}

GraphImporter::GraphImporter(std::shared_ptr<const ModelFile> model, Weights weights)
    : model_(std::move(model)), functions_(read_functions(model_->proto())), narrow_(weights), frames_(1) {
  frames_.back().opsets = read_opsets(model_->proto());
  frames_.back().scopes.emplace_back();
}

void GraphImporter::name_constants(const std::string& name, const Value& value) {
  if (value.needs_name()) value.set_name(unique_name(name));
  if (value.is_stored()) name_constants(name, value.codes());
  if (!value.is_sequence()) return;
  for (std::size_t i = 0; i < value.elements().size(); ++i) name_constants(str_cat(name, "/", i), value.elements()[i]);
}

void GraphImporter::bind(const std::string& name, const Value& value) {
  name_constants(name, value);
  if (!frames_.back().scopes.back().emplace(name, value).second) reject(str_cat("'", name, "' is defined twice"));
}

Value GraphImporter::lookup(const std::string& name) const {
  if (name.empty()) return Value();
  const auto& scopes = frames_.back().scopes;
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
    const auto found = scope->find(name);
    if (found != scope->end()) return found->second;
  }
  reject(str_cat("'", name, "' is used but no input, initializer or earlier node defines it"));
}

std::string GraphImporter::unique_name(const std::string& base) {
  int& uses = name_uses_[base];
  std::string name = base;
  if (++uses > 1) name = str_cat(base, "#", uses);
  while (!parameter_names_.insert(name).second) name = str_cat(base, "#", ++uses);
  return name;
}

const ::hearth_onnx::AttributeProto* GraphImporter::function_attribute(const std::string& name) const {
  const auto& attributes = frames_.back().attributes;
  const auto found = attributes.find(name);
  return found == attributes.end() ? nullptr : found->second;
}

std::string GraphImporter::need_value(const client::Tensor& tensor) {
  SteeringInputs steering;
  for (const client::Node* input : client::graph_inputs({{"", tensor}})) steering.names.insert(input->name);
  const auto is_known = [&](const std::string& name) { return known_.count(name) != 0; };
  if (!steering.names.empty() && std::all_of(steering.names.begin(), steering.names.end(), is_known)) throw steering;
  const bool one = steering.names.size() == 1;
  if (steering.names.empty() || steering.names.size() > 4) return "";
  std::string flags;
  for (const std::string& name : steering.names)
    str_append(&flags, flags.empty() ? "" : " ", "--const ", name, "=VALUE");
  return str_cat("it depends on the ", one ? "value of input '" : "values of inputs '",
                 absl::StrJoin(steering.names, "', '"), "': give ", one ? "it" : "them", " (", flags,
                 ", or ImportOptions::constants)");
}

Values GraphImporter::run(const ::hearth_onnx::GraphProto& graph) {
  if (graph.sparse_initializer_size() > 0) reject_unsupported("a sparse initializer");
  if (orders_.count(&graph) == 0) {
    std::vector<std::string> outputs;
    for (const ::hearth_onnx::ValueInfoProto& output : graph.output()) outputs.push_back(output.name());
    for (const ::hearth_onnx::NodeProto& node : graph.node()) {
      for (const std::string& name : node.output()) {
        if (frames_.back().scopes.back().count(name) != 0) reject(str_cat("'", name, "' is defined twice"));
      }
    }
    orders_.emplace(&graph, needed_nodes(graph.node(), outputs));
  }
  const NodeOrder& order = orders_.at(&graph);
  const std::set<std::string>& reads = order.reads;
  // In the model's own graph: a default for the input of that name, where no other value is bound to it.
  const bool is_default = &graph == &model_->proto().graph();
  for (const ::hearth_onnx::TensorProto& initializer : graph.initializer()) {
    if (is_default && frames_.back().scopes.back().count(initializer.name()) != 0) continue;
    if (!reads.contains(initializer.name())) continue;
    Value& value = initializers_[&initializer];
    if (value.empty()) {
      value = value_of(initializer, model_, *this);
    }
    bind(initializer.name(), value);
  }
  for (const ::hearth_onnx::NodeProto* node : order.nodes) run_node(*node);
  Values outputs;
  for (const ::hearth_onnx::ValueInfoProto& output : graph.output()) outputs.push_back(lookup(output.name()));
  return outputs;
}

Values GraphImporter::run_nested(const ::hearth_onnx::GraphProto& graph, const Values& inputs) {
  if (static_cast<std::size_t>(graph.input_size()) != inputs.size()) {
    reject(str_cat("graph '", graph.name(), "' has ", graph.input_size(), " inputs but is given ", inputs.size()));
  }
  frames_.back().scopes.emplace_back();
  for (int i = 0; i < graph.input_size(); ++i) bind(graph.input(i).name(), inputs[static_cast<std::size_t>(i)]);
  Values outputs = run(graph);
  frames_.back().scopes.pop_back();
  return outputs;
}

void GraphImporter::run_node(const ::hearth_onnx::NodeProto& node) {
  const std::string location = str_cat("ONNX node '", node_label(node), "' (", operator_name(node), ")");
  try {
    client::ScopedLocation here(location);
    if (++num_nodes_ > kMaxNodes) {
      reject_unsupported(str_cat("more than ", kMaxNodes, " nodes, loops unrolled and functions expanded,"));
    }
    const Values outputs = import_node(node);
    for (int i = 0; i < node.output_size(); ++i) {
      if (node.output(i).empty()) continue;
      if (static_cast<std::size_t>(i) >= outputs.size()) {
        reject_unsupported(str_cat("output ", i, " ('", node.output(i), "')"));
      }
      bind(node.output(i), outputs[static_cast<std::size_t>(i)]);
    }
  } catch (const client::JitError& error) {
    if (located_) throw;
    located_ = true;
    const Opsets& opsets = frames_.back().opsets;
    const auto opset = opsets.find(normal_domain(node.domain()));
    const std::string version = opset == opsets.end() ? "" : str_cat(", opset ", opset->second);
    // The node is named in front; where in this importer the op was recorded is of no use to who has the model.
    absl::string_view message = error.status().message();
    message = message.substr(0, message.rfind(str_cat(" (at ", location)));
    std::string remedy = client::equal_lengths_of(error.status());
    if (!remedy.empty()) remedy = str_cat("; where these are one length, say so: --dim '", remedy, "'");
    absl::Status located(error.status().code(), str_cat("node '", node_label(node), "' (operator ", operator_name(node),
                                                        version, "): ", message, remedy));
    client::copy_equal_lengths(error.status(), located);
    throw client::JitError(std::move(located));
  }
}

namespace {

Values import_with(const OperatorEntry& entry, NodeContext& context, const Values& inputs) {
  const bool elementwise = entry.bounded == BoundedInputs::kElementwise && inputs.size() == 1;
  if (elementwise || entry.bounded == BoundedInputs::kHandled) context.allow_bounded();
  Values outputs = entry.import(context);
  if (elementwise && inputs[0].is_bounded()) {
    outputs.at(0) = Value::bounded(outputs[0].tensor(), inputs[0].bounded_axis(), inputs[0].length());
  }
  return outputs;
}

}  // namespace

namespace {

constexpr std::int64_t kMaxKnownBytes = 1 << 12;

// Lengths that depend on data, but on no input.
void know_lengths(Values& outputs) {
  for (Value& output : outputs) {
    if (!output.is_tensor() || !output.is_bounded()) continue;
    const std::optional<HostTensor> length = constant_value(output.length());
    if (!length) continue;
    const client::Slice part = {.axis = output.bounded_axis(), .end = length->integer(0)};
    output = Value(client::slice(output.tensor(), {part}));
  }
}

// Integers that no input decides are known from here on, whatever operators made them: shapes, axes, conditions.
void know_small_constants(const Values& outputs) {
  for (const Value& output : outputs) {
    if (!output.is_tensor() || output.is_host() || output.is_lengths() || output.is_bounded()) continue;
    const client::Tensor& tensor = output.tensor();
    if (is_float(tensor.dtype()) || !client::is_const(tensor.shape())) continue;
    const std::int64_t bytes =
        client::num_elements(tensor.shape()).value() * static_cast<std::int64_t>(dtype_bytes(tensor.dtype()));
    if (bytes > kMaxKnownBytes) continue;
    if (std::optional<HostTensor> value = constant_value(tensor)) output.set_known(*std::move(value));
  }
}

}  // namespace

Values GraphImporter::import_node(const ::hearth_onnx::NodeProto& node) {
  const std::string domain = normal_domain(node.domain());
  const Opsets& opsets = frames_.back().opsets;
  const Function* function = find_function(functions_, called_function(node));
  Values inputs;
  for (const std::string& name : node.input()) inputs.push_back(lookup(name));
  const StorageType* const moved = function == nullptr ? take_codes(domain, node.op_type(), inputs) : nullptr;
  // A function's own version means nothing to its body, which brings its own imports.
  NodeContext context(node, function != nullptr ? kLastOpset : opset_of(node, opsets), inputs, model_, *this);
  if (function != nullptr) return expand(*function, context, inputs);
  Values outputs = import_with(find_operator(domain, node.op_type(), context.opset()), context, inputs);
  context.check_all_read();
  if (!context.is_random()) {
    know_lengths(outputs);
    know_small_constants(outputs);
  }
  is_random_ = is_random_ || context.is_random();
  if (moved != nullptr)
    for (Value& output : outputs) output = Value::stored(output, *moved);
  return outputs;
}

Values GraphImporter::expand(const Function& function, NodeContext& call, const Values& inputs) {
  const ::hearth_onnx::FunctionProto& proto = *function.proto;
  if (std::any_of(frames_.begin(), frames_.end(), [&](const Frame& frame) { return frame.function == &function; })) {
    reject(str_cat("function '", proto.name(), "' calls itself"));
  }
  if (frames_.size() > kMaxCalls)
    reject_unsupported(str_cat("more than ", kMaxCalls, " functions, each within another,"));
  if (inputs.size() > static_cast<std::size_t>(proto.input_size())) {
    reject(str_cat("function '", proto.name(), "' has ", proto.input_size(), " inputs but is given ", inputs.size()));
  }
  Frame frame;
  frame.function = &function;
  frame.opsets = function.opsets;
  frame.scopes.emplace_back();
  for (const auto& [name, attribute] : call.all_attributes()) frame.attributes.emplace(name, attribute);
  for (const auto& [name, attribute] : frame.attributes) {
    const auto has_name = [&](const auto& item) { return item.name() == name; };
    if (std::count(proto.attribute().begin(), proto.attribute().end(), name) > 0) continue;
    if (std::any_of(function.defaults.begin(), function.defaults.end(), has_name)) continue;
    reject(str_cat("function '", proto.name(), "' has no attribute '", name, "'"));
  }
  for (const ::hearth_onnx::AttributeProto& fallback : function.defaults)
    frame.attributes.emplace(fallback.name(), &fallback);
  frames_.push_back(std::move(frame));
  for (int i = 0; i < proto.input_size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    bind(proto.input(i), at < inputs.size() ? inputs[at] : Value());
  }
  if (orders_.count(&proto) == 0)
    orders_.emplace(&proto, needed_nodes(proto.node(), {proto.output().begin(), proto.output().end()}));
  const NodeOrder& order = orders_.at(&proto);
  for (const ::hearth_onnx::NodeProto* node : order.nodes) run_node(*node);
  Values outputs;
  for (const std::string& name : proto.output()) outputs.push_back(lookup(name));
  frames_.pop_back();
  return outputs;
}

}  // namespace hearth::onnx
