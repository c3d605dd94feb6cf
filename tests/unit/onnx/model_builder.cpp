#include "tests/unit/onnx/model_builder.h"
#include "client/trace/encoded_graph.h"

#include <cstring>

namespace hearth::onnx {

using ::hearth_onnx::AttributeProto;
using ::hearth_onnx::TensorProto;

ModelBuilder::ModelBuilder(int opset) {
  model_.set_ir_version(8);
  model_.add_opset_import()->set_version(opset);
  model_.mutable_graph()->set_name("test");
}

ModelBuilder& ModelBuilder::input(const std::string& name, const std::vector<std::int64_t>& shape, int type) {
  auto* value = model_.mutable_graph()->add_input();
  value->set_name(name);
  value->mutable_type()->mutable_tensor_type()->set_elem_type(type);
  auto* dims = value->mutable_type()->mutable_tensor_type()->mutable_shape();
  for (std::int64_t length : shape) dims->add_dim()->set_dim_value(length);
  return *this;
}

ModelBuilder& ModelBuilder::symbolic_input(const std::string& name, const std::vector<std::string>& dims) {
  input(name, {});
  auto* shape = model_.mutable_graph()->mutable_input()->rbegin()->mutable_type()->mutable_tensor_type();
  for (const std::string& dim : dims) {
    auto* added = shape->mutable_shape()->add_dim();
    if (!dim.empty()) added->set_dim_param(dim);
  }
  return *this;
}

ModelBuilder& ModelBuilder::ints(const std::string& name, const std::vector<std::int64_t>& shape,
                                 const std::vector<std::int64_t>& values) {
  TensorProto* tensor = model_.mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(TensorProto::INT64);
  tensor->mutable_dims()->Assign(shape.begin(), shape.end());
  tensor->mutable_int64_data()->Assign(values.begin(), values.end());
  return *this;
}

ModelBuilder& ModelBuilder::floats(const std::string& name, const std::vector<std::int64_t>& shape,
                                   const std::vector<float>& values) {
  TensorProto* tensor = model_.mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(TensorProto::FLOAT);
  tensor->mutable_dims()->Assign(shape.begin(), shape.end());
  tensor->set_raw_data(std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
  return *this;
}

ModelBuilder& ModelBuilder::node(const std::string& op, const std::vector<std::string>& inputs,
                                 const std::vector<std::string>& outputs, const std::string& name) {
  auto* node = model_.mutable_graph()->add_node();
  node->set_op_type(op);
  node->set_name(name);
  for (const std::string& input : inputs) node->add_input(input);
  for (const std::string& output : outputs) node->add_output(output);
  return *this;
}

AttributeProto* ModelBuilder::add(const std::string& name, AttributeProto::AttributeType type) {
  AttributeProto* attribute = last().add_attribute();
  attribute->set_name(name);
  attribute->set_type(type);
  return attribute;
}

ModelBuilder& ModelBuilder::attr(const std::string& name, std::int64_t value) {
  add(name, AttributeProto::INT)->set_i(value);
  return *this;
}

ModelBuilder& ModelBuilder::attr(const std::string& name, const std::vector<std::int64_t>& values) {
  add(name, AttributeProto::INTS)->mutable_ints()->Assign(values.begin(), values.end());
  return *this;
}

ModelBuilder& ModelBuilder::attr_text(const std::string& name, const std::string& value) {
  add(name, AttributeProto::STRING)->set_s(value);
  return *this;
}

ModelBuilder& ModelBuilder::attr_real(const std::string& name, float value) {
  add(name, AttributeProto::FLOAT)->set_f(value);
  return *this;
}

ModelBuilder& ModelBuilder::attr_graph(const std::string& name, const ModelBuilder& body) {
  *add(name, AttributeProto::GRAPH)->mutable_g() = body.model_.graph();
  return *this;
}

ModelBuilder& ModelBuilder::attr_reference(const std::string& name, const std::string& function_attribute,
                                           AttributeProto::AttributeType type) {
  add(name, type)->set_ref_attr_name(function_attribute);
  return *this;
}

ModelBuilder& ModelBuilder::function(const std::string& domain, const std::string& name,
                                     const std::vector<std::string>& attributes, const ModelBuilder& body) {
  ::hearth_onnx::FunctionProto& function = *model_.add_functions();
  function.set_domain(domain);
  function.set_name(name);
  for (const std::string& attribute : attributes) function.add_attribute(attribute);
  for (const auto& input : body.model_.graph().input()) function.add_input(input.name());
  for (const auto& output : body.model_.graph().output()) function.add_output(output.name());
  *function.mutable_node() = body.model_.graph().node();
  *function.mutable_opset_import() = body.model_.opset_import();
  return *this;
}

ModelBuilder& ModelBuilder::output(const std::string& name) {
  model_.mutable_graph()->add_output()->set_name(name);
  return *this;
}

absl::StatusOr<ImportedModel> ModelBuilder::import(const ImportOptions& options) const {
  return import_model_bytes(model_.SerializeAsString(), "test.onnx", options);
}

std::vector<std::int64_t> folded(const ImportedModel& model, std::size_t index) {
  const auto bytes = model.outputs.at(index).second.constant_bytes();
  if (!bytes || model.results.at(index).dtype != DType::kI64) return {-999};
  std::vector<std::int64_t> values(bytes->size() / sizeof(std::int64_t));
  if (!values.empty()) std::memcpy(values.data(), bytes->data(), bytes->size());
  return values;
}

int count_ops(const ImportedModel& model, int op) {
  const auto traced = client::encode_graph(model.outputs);
  if (!traced.ok()) return -1;
  int found = 0;
  for (const auto& node : traced->graph.nodes()) found += node.op() == op ? 1 : 0;
  return found;
}

std::string error_of(const absl::StatusOr<ImportedModel>& model) {
  return model.ok() ? "no error" : std::string(model.status().message());
}

}  // namespace hearth::onnx
