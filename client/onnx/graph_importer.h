// GraphImporter: walks the nodes of one model's graph, its nested graphs and its functions, and keeps what every name
// stands for. Nested graphs see the names of the graphs around them; a function, which is expanded where it is called,
// sees only its inputs and attributes. One use, single-threaded. Errors: JitError, completed with node, operator and
// opset.
//
//   GraphImporter importer(model);
//   importer.bind("x", Value(client::input("x", {1, 3}, DType::kF32)));
//   Values outputs = importer.run(model->proto().graph());
#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "client/onnx/functions.h"
#include "client/onnx/narrow_weights.h"
#include "client/onnx/node_context.h"
#include "client/onnx/node_order.h"

namespace hearth_onnx {
class ModelProto;
class TensorProto;
}  // namespace hearth_onnx

namespace hearth::onnx {

// The node's name, or its first output.
std::string node_label(const ::hearth_onnx::NodeProto& node);
// With its domain where that is not ONNX's own.
std::string operator_name(const ::hearth_onnx::NodeProto& node);
// The version of ONNX's own operators that a model imports; JitError when it is none that is known here.
int standard_opset(const ::hearth_onnx::ModelProto& model);

class GraphImporter : private ImportScope {
 public:
  // Nodes of an import, those of unrolled loops and expanded functions counted each time.
  static constexpr int kMaxNodes = 200000;
  // Calls of functions within one another; as deep as Protobuf lets messages be. The stack of the thread decides it else.
  static constexpr std::size_t kMaxCalls = 100;

  explicit GraphImporter(std::shared_ptr<const ModelFile> model, Weights weights = Weights::kF32);

  // Gives `name` its one meaning in the current graph.
  void bind(const std::string& name, const Value& value);
  // Why no node of this operator can be imported, "" when one may be.
  static std::string missing_operator(const ::hearth_onnx::NodeProto& node, const Opsets& opsets,
                                      const Functions& functions);
  // The value of this input is known should the import depend on it: then SteeringInputs is thrown.
  void know(const std::string& input) { known_.insert(input); }
  // Imports initializers and nodes; returns the graph's outputs in order.
  Values run(const ::hearth_onnx::GraphProto& graph);
  // Whether an imported node gives random numbers.
  bool is_random() const { return is_random_; }
  WeightsReport take_weights_report() { return narrow_.take_report(); }

 private:
  // The graph or function whose nodes are imported: what it sees.
  struct Frame {
    const Function* function = nullptr;  // null: the model's graph
    Opsets opsets;
    std::map<std::string, const ::hearth_onnx::AttributeProto*> attributes;
    std::vector<std::map<std::string, Value>> scopes;  // innermost last
  };

  std::string unique_name(const std::string& base) override;
  NarrowWeights& narrow_weights() override { return narrow_; }
  Values run_nested(const ::hearth_onnx::GraphProto& graph, const Values& inputs) override;
  const ::hearth_onnx::AttributeProto* function_attribute(const std::string& name) const override;
  std::string need_value(const client::Tensor& tensor) override;

  void run_node(const ::hearth_onnx::NodeProto& node);
  Values import_node(const ::hearth_onnx::NodeProto& node);
  Values expand(const Function& function, NodeContext& call, const Values& inputs);
  // A constant becomes a parameter of this name, should it be used as a tensor.
  void name_constants(const std::string& name, const Value& value);
  Value lookup(const std::string& name) const;

  std::shared_ptr<const ModelFile> model_;
  Functions functions_;
  NarrowWeights narrow_;
  std::vector<Frame> frames_;                                        // innermost call last
  std::map<const void*, NodeOrder> orders_;                          // of graphs and functions
  std::map<const ::hearth_onnx::TensorProto*, Value> initializers_;  // those of an unrolled body are one parameter
  std::set<std::string> parameter_names_;
  std::map<std::string, int> name_uses_;  // of a base, so that an unrolled loop finds the next free name at once
  std::set<std::string> known_;           // inputs
  int num_nodes_ = 0;
  bool is_random_ = false;
  bool located_ = false;  // the error under way already names its node
};

}  // namespace hearth::onnx
