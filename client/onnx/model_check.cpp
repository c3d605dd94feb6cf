#include "client/onnx/model_check.h"

#include "client/errors.h"
#include "client/onnx/graph_importer.h"
#include "client/onnx/model_file.h"
#include "client/onnx/operators.h"
#include "onnx/onnx.pb.h"
#include "runtime/text.h"

namespace hearth::onnx {
namespace {

// Walks nested graphs with a list of its own: a hostile file may nest deeply.
void check_nodes(const ::onnx::GraphProto& main_graph, ModelCheck* check) {
  std::vector<const ::onnx::GraphProto*> graphs = {&main_graph};
  while (!graphs.empty()) {
    const ::onnx::GraphProto& graph = *graphs.back();
    graphs.pop_back();
    for (const ::onnx::NodeProto& node : graph.node()) {
      ++check->num_nodes;
      const std::string reason = GraphImporter::missing_operator(node, check->opset);
      if (!reason.empty()) check->missing.push_back({node_label(node), operator_name(node), reason});
      for (const ::onnx::AttributeProto& attribute : node.attribute()) {
        if (attribute.has_g()) graphs.push_back(&attribute.g());
      }
    }
  }
}

}  // namespace

absl::StatusOr<ModelCheck> check_model(const std::string& path) {
  const auto model = read_model(path);
  if (!model.ok()) return model.status();
  const auto checked = client::catch_jit_error([&] {
    ModelCheck check;
    check.opset = standard_opset(**model);
    check_nodes((*model)->graph(), &check);
    return check;
  });
  if (checked.ok()) return checked;
  return absl::Status(checked.status().code(), str_cat(path, ": ", checked.status().message()));
}

}  // namespace hearth::onnx
