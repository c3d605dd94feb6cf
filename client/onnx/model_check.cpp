#include "client/onnx/model_check.h"

#include "client/errors.h"
#include "client/onnx/graph_importer.h"
#include "client/onnx/model_file.h"
#include "client/onnx/operators.h"
#include "onnx/onnx.pb.h"
#include "runtime/text.h"

namespace hearth::onnx {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<::onnx::NodeProto>;

// Walks nested graphs with a list of its own: a hostile file may nest deeply.
void check_nodes(const Nodes& main_nodes, const Opsets& opsets, const Functions& functions, ModelCheck* check) {
  std::vector<const Nodes*> lists = {&main_nodes};
  while (!lists.empty()) {
    const Nodes& nodes = *lists.back();
    lists.pop_back();
    for (const ::onnx::NodeProto& node : nodes) {
      ++check->num_nodes;
      const std::string reason = GraphImporter::missing_operator(node, opsets, functions);
      if (!reason.empty()) check->missing.push_back({node_label(node), operator_name(node), reason});
      for (const ::onnx::AttributeProto& attribute : node.attribute()) {
        if (attribute.has_g()) lists.push_back(&attribute.g().node());
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
    const Functions functions = read_functions(**model);
    check_nodes((*model)->graph().node(), read_opsets(**model), functions, &check);
    for (const auto& [name, function] : functions) {
      check_nodes(function.proto->node(), function.opsets, functions, &check);
    }
    return check;
  });
  if (checked.ok()) return checked;
  return absl::Status(checked.status().code(), str_cat(path, ": ", checked.status().message()));
}

}  // namespace hearth::onnx
