// Which nodes of a model need an operator, or an opset of one, that is not here: read from the file alone, subgraphs
// and functions included, without shapes or weights. Nodes that no output needs stand apart, since they are not
// imported. Thread-safe. Errors: status naming the file.
//
//   absl::StatusOr<ModelCheck> checked = check_model("model.onnx");
//   for (const MissingNode& node : checked->missing) …
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace hearth_onnx {
class FunctionProto;
class ModelProto;
class NodeProto;
}  // namespace hearth_onnx

namespace hearth::onnx {

class ModelFile;

struct MissingNode {
  std::string name;  // or its first output
  std::string op;    // "domain::name" if not ONNX's own
  int opset = 0;     // of its domain; 0: not imported
  std::string reason;
};

struct ModelCheck {
  int opset = 0;  // of ONNX's own operators
  std::size_t num_nodes = 0;
  std::vector<MissingNode> missing;           // in the file's order
  std::vector<MissingNode> missing_unneeded;  // of nodes that no output needs: the model runs without them
};

absl::StatusOr<ModelCheck> check_model(const std::string& path);
absl::StatusOr<ModelCheck> check_model(const std::shared_ptr<const ModelFile>& model);

// Calls `visit` with every node of the model and of its functions, and the function it stands in (null: the model's
// graph), nested graphs after the nodes they belong to.
void for_each_node(
    const ::hearth_onnx::ModelProto& model,
    const std::function<void(const ::hearth_onnx::NodeProto&, const ::hearth_onnx::FunctionProto*)>& visit);

}  // namespace hearth::onnx
