// GraphImporter: walks the nodes of one model's graph and its nested graphs, and keeps what every name stands for.
// Nested graphs see the names of the graphs around them. One use, single-threaded. Errors: JitError, completed with
// node, operator and opset.
//
//   GraphImporter importer(model, 17);
//   importer.bind("x", Value(client::input("x", {1, 3}, DType::kF32)));
//   Values outputs = importer.run(model->graph());
#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "client/onnx/node_context.h"

namespace onnx {
class ModelProto;
}  // namespace onnx

namespace hearth::onnx {

// The node's name, or its first output.
std::string node_label(const ::onnx::NodeProto& node);
// With its domain where that is not ONNX's own.
std::string operator_name(const ::onnx::NodeProto& node);
// The version of ONNX's own operators that a model imports; JitError when it is none that is known here.
int standard_opset(const ::onnx::ModelProto& model);

class GraphImporter {
 public:
  GraphImporter(std::shared_ptr<const ::onnx::ModelProto> model, int opset);

  // Gives `name` its one meaning in the current graph.
  void bind(const std::string& name, const Value& value);
  // Why no node of this operator can be imported, "" when one may be.
  static std::string missing_operator(const ::onnx::NodeProto& node, int opset);
  // Imports initializers and nodes; returns the graph's outputs in order.
  Values run(const ::onnx::GraphProto& graph);
  // Whether an imported node gives random numbers.
  bool is_random() const { return is_random_; }

 private:
  Values import_node(const ::onnx::NodeProto& node);
  Values take_branch(NodeContext& node);
  Value lookup(const std::string& name) const;
  std::string unique_name(const std::string& base);

  std::shared_ptr<const ::onnx::ModelProto> model_;
  int opset_;
  std::vector<std::map<std::string, Value>> scopes_;  // innermost last
  std::set<std::string> parameter_names_;
  bool is_random_ = false;
  bool located_ = false;  // the error under way already names its node
};

}  // namespace hearth::onnx
