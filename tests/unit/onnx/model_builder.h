// Builds small ONNX models in memory for tests.
//
//   ModelBuilder m(17);
//   m.input("x", {2, 3}).node("Relu", {"x"}, {"y"}).output("y");
//   absl::StatusOr<ImportedModel> model = m.import();
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "hearth/onnx.h"
#include "hearth_onnx.pb.h"

namespace hearth::onnx {

class ModelBuilder {
 public:
  explicit ModelBuilder(int opset);
  ModelBuilder& input(const std::string& name, const std::vector<std::int64_t>& shape,
                      int type = ::hearth_onnx::TensorProto::FLOAT);
  ModelBuilder& symbolic_input(const std::string& name, const std::vector<std::string>& dims);
  ModelBuilder& ints(const std::string& name, const std::vector<std::int64_t>& shape,
                     const std::vector<std::int64_t>& values);
  ModelBuilder& floats(const std::string& name, const std::vector<std::int64_t>& shape,
                       const std::vector<float>& values);
  ModelBuilder& node(const std::string& op, const std::vector<std::string>& inputs,
                     const std::vector<std::string>& outputs, const std::string& name = "");
  // Attributes of the last node.
  ModelBuilder& attr(const std::string& name, std::int64_t value);
  ModelBuilder& attr(const std::string& name, const std::vector<std::int64_t>& values);
  ModelBuilder& attr_text(const std::string& name, const std::string& value);
  ModelBuilder& attr_real(const std::string& name, float value);
  ModelBuilder& attr_graph(const std::string& name, const ModelBuilder& body);
  ModelBuilder& attr_reference(const std::string& name, const std::string& function_attribute,
                               ::hearth_onnx::AttributeProto::AttributeType type);
  ModelBuilder& output(const std::string& name);
  // The body's graph as a function of this model, which its inputs, outputs and opset describe.
  ModelBuilder& function(const std::string& domain, const std::string& name, const std::vector<std::string>& attributes,
                         const ModelBuilder& body);

  ::hearth_onnx::ModelProto& proto() { return model_; }
  ::hearth_onnx::NodeProto& last() { return *model_.mutable_graph()->mutable_node()->rbegin(); }
  absl::StatusOr<ImportedModel> import(const ImportOptions& options = {}) const;

 private:
  ::hearth_onnx::AttributeProto* add(const std::string& name, ::hearth_onnx::AttributeProto::AttributeType type);
  ::hearth_onnx::ModelProto model_;
};

// The integers of output `index`, which must be a constant.
std::vector<std::int64_t> folded(const ImportedModel& model, std::size_t index = 0);
// Nodes of the encoded graph with this op.
int count_ops(const ImportedModel& model, int op);
std::string error_of(const absl::StatusOr<ImportedModel>& model);

}  // namespace hearth::onnx
