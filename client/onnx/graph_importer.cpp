#include "client/onnx/graph_importer.h"

#include <utility>

#include "client/errors.h"
#include "client/onnx/model_file.h"
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "client/tracer.h"
#include "onnx/onnx.pb.h"
#include "runtime/text.h"

namespace hearth::onnx {
std::string node_label(const ::onnx::NodeProto& node) {
  if (!node.name().empty()) return node.name();
  return node.output_size() > 0 ? node.output(0) : "";
}

std::string operator_name(const ::onnx::NodeProto& node) {
  const bool standard = node.domain().empty() || node.domain() == "ai.onnx";
  return standard ? node.op_type() : str_cat(node.domain(), "::", node.op_type());
}

int standard_opset(const ::onnx::ModelProto& model) {
  for (const ::onnx::OperatorSetIdProto& set : model.opset_import()) {
    if (!set.domain().empty() && set.domain() != "ai.onnx") continue;
    if (set.version() < kFirstOpset || set.version() > kLastOpset) {
      reject_unsupported(str_cat("opset ", set.version(), " (export the model with an opset from ", kFirstOpset, " to ",
                                 kLastOpset, ")"));
    }
    return static_cast<int>(set.version());
  }
  reject_unsupported("a model that names no version of ONNX's own operators (opset_import)");
}

std::string GraphImporter::missing_operator(const ::onnx::NodeProto& node, int opset) {
  if (operator_name(node) != node.op_type()) return str_cat("operator domain '", node.domain(), "' is not supported");
  if (node.op_type() == "If") return "";
  const auto found = client::catch_jit_error([&] { return &find_operator(node.op_type(), opset); });
  return found.ok() ? "" : std::string(found.status().message());
}

GraphImporter::GraphImporter(std::shared_ptr<const ::onnx::ModelProto> model, int opset)
    : model_(std::move(model)), opset_(opset), scopes_(1) {}

void GraphImporter::bind(const std::string& name, const Value& value) {
  if (value.needs_name()) value.set_name(unique_name(name));
  if (!scopes_.back().emplace(name, value).second) reject(str_cat("'", name, "' is defined twice"));
}

Value GraphImporter::lookup(const std::string& name) const {
  if (name.empty()) return Value();
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto found = scope->find(name);
    if (found != scope->end()) return found->second;
  }
  reject(str_cat("'", name, "' is used but no input, initializer or earlier node defines it"));
}

std::string GraphImporter::unique_name(const std::string& base) {
  std::string name = base;
  for (int i = 2; !parameter_names_.insert(name).second; ++i) name = str_cat(base, "#", i);
  return name;
}

Values GraphImporter::run(const ::onnx::GraphProto& graph) {
  if (graph.sparse_initializer_size() > 0) reject_unsupported("a sparse initializer");
  for (const ::onnx::TensorProto& initializer : graph.initializer()) {
    bind(initializer.name(), Value::host(to_host_tensor(initializer, model_)));
  }
  for (const ::onnx::NodeProto& node : graph.node()) {
    try {
      client::ScopedLocation here(str_cat("ONNX node '", node_label(node), "' (", operator_name(node), ")"));
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
      throw client::JitError(
          absl::Status(error.status().code(), str_cat("node '", node_label(node), "' (operator ", operator_name(node),
                                                      ", opset ", opset_, "): ", error.status().message())));
    }
  }
  Values outputs;
  for (const ::onnx::ValueInfoProto& output : graph.output()) outputs.push_back(lookup(output.name()));
  return outputs;
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

Values GraphImporter::import_node(const ::onnx::NodeProto& node) {
  if (operator_name(node) != node.op_type()) reject_unsupported(str_cat("operator domain '", node.domain(), "'"));
  Values inputs;
  for (const std::string& name : node.input()) inputs.push_back(lookup(name));
  NodeContext context(node, opset_, inputs, model_, [this](const std::string& base) { return unique_name(base); });
  Values outputs = node.op_type() == "If" ? take_branch(context)
                                          : import_with(find_operator(node.op_type(), opset_), context, inputs);
  context.check_all_read();
  is_random_ = is_random_ || context.is_random();
  return outputs;
}

Values GraphImporter::take_branch(NodeContext& node) {
  const HostTensor& condition = node.known(0, "the condition");
  if (condition.size() != 1) reject(str_cat("the condition has shape ", to_string(condition.shape())));
  const ::onnx::GraphProto& then_branch = node.graph("then_branch");
  const ::onnx::GraphProto& else_branch = node.graph("else_branch");
  scopes_.emplace_back();
  Values outputs = run(condition.integer(0) != 0 ? then_branch : else_branch);
  scopes_.pop_back();
  return outputs;
}

}  // namespace hearth::onnx
