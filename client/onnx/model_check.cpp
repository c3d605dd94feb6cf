#include "client/onnx/model_check.h"

#include <set>

#include "base/status_macros.h"
#include "base/text.h"
#include "client/onnx/graph_importer.h"
#include "client/onnx/model_file.h"
#include "client/onnx/node_order.h"
#include "client/onnx/operators.h"
#include "hearth/error.h"
#include "hearth_onnx.pb.h"

namespace hearth::onnx {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<::hearth_onnx::NodeProto>;
using Visit = std::function<void(const ::hearth_onnx::NodeProto&, const ::hearth_onnx::FunctionProto*)>;

// Walks nested graphs with a list of its own: a hostile file may nest deeply.
void visit_nodes(const Nodes& main_nodes, const ::hearth_onnx::FunctionProto* function, const Visit& visit) {
  std::vector<const Nodes*> lists = {&main_nodes};
  while (!lists.empty()) {
    const Nodes& nodes = *lists.back();
    lists.pop_back();
    for (const ::hearth_onnx::NodeProto& node : nodes) {
      visit(node, function);
      for (const ::hearth_onnx::AttributeProto& attribute : node.attribute()) {
        if (attribute.has_g()) lists.push_back(&attribute.g().node());
      }
    }
  }
}

}  // namespace

void for_each_node(const ::hearth_onnx::ModelProto& model, const Visit& visit) {
  visit_nodes(model.graph().node(), nullptr, visit);
  for (const ::hearth_onnx::FunctionProto& function : model.functions()) visit_nodes(function.node(), &function, visit);
}

namespace {

using NodeList = std::vector<const ::hearth_onnx::NodeProto*>;

// The nodes that outputs need, of the main graph, of graphs nested in them, and of the functions they call.
std::set<const ::hearth_onnx::NodeProto*> all_needed(const ::hearth_onnx::ModelProto& model,
                                                     const Functions& functions) {
  const auto of_graph = [](const ::hearth_onnx::GraphProto& graph) {
    std::vector<std::string> outputs;
    for (const auto& output : graph.output()) outputs.push_back(output.name());
    return needed_nodes(graph.node(), outputs).nodes;
  };
  std::set<const ::hearth_onnx::NodeProto*> needed;
  std::set<const ::hearth_onnx::FunctionProto*> seen;
  std::vector<NodeList> lists = {of_graph(model.graph())};
  while (!lists.empty()) {
    const NodeList list = std::move(lists.back());
    lists.pop_back();
    for (const ::hearth_onnx::NodeProto* node : list) {
      needed.insert(node);
      for (const ::hearth_onnx::AttributeProto& attribute : node->attribute()) {
        if (attribute.has_g()) lists.push_back(of_graph(attribute.g()));
      }
      const Function* called = find_function(functions, called_function(*node));
      if (called == nullptr || !seen.insert(called->proto).second) continue;
      const auto& outputs = called->proto->output();
      lists.push_back(needed_nodes(called->proto->node(), {outputs.begin(), outputs.end()}).nodes);
    }
  }
  return needed;
}

}  // namespace

absl::StatusOr<ModelCheck> check_model(const ModelFilePtr& model) {
  const auto checked = client::catch_jit_error([&] {
    ModelCheck check;
    const ::hearth_onnx::ModelProto& proto = model->proto();
    check.opset = standard_opset(proto);
    const Opsets opsets = read_opsets(proto);
    const Functions functions = read_functions(proto);
    const std::set<const ::hearth_onnx::NodeProto*> needed = all_needed(proto, functions);
    for_each_node(proto, [&](const auto& node, const ::hearth_onnx::FunctionProto* within) {
      ++check.num_nodes;
      const Function* function = within == nullptr ? nullptr : find_function(functions, name_of(*within));
      const Opsets& imported = function == nullptr ? opsets : function->opsets;
      const std::string reason = GraphImporter::missing_operator(node, imported, functions);
      if (reason.empty()) return;
      const auto opset = imported.find(normal_domain(node.domain()));
      std::vector<MissingNode>& nodes = needed.contains(&node) ? check.missing : check.missing_unneeded;
      nodes.push_back({node_label(node), operator_name(node), opset == imported.end() ? 0 : opset->second, reason});
    });
    return check;
  });
  if (checked.ok()) return checked;
  return absl::Status(checked.status().code(), str_cat(model->path(), ": ", checked.status().message()));
}

absl::StatusOr<ModelCheck> check_model(const std::string& path) {
  HEARTH_ASSIGN_OR_RETURN(const ModelFilePtr model, read_model(path));
  return check_model(model);
}

}  // namespace hearth::onnx
