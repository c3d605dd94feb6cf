#include "client/onnx/model_summary.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "client/onnx/dim_expression.h"
#include "client/onnx/external_data.h"
#include "client/onnx/functions.h"
#include "client/onnx/graph_importer.h"
#include "client/onnx/model_check.h"
#include "client/onnx/model_file.h"
#include "hearth/error.h"
#include "hearth_onnx.pb.h"

namespace hearth::onnx {
namespace {

// What stands below "optional" and "sequence".
const ::hearth_onnx::TypeProto& inner_type(const ::hearth_onnx::TypeProto& type, std::string* prefix) {
  const ::hearth_onnx::TypeProto* inner = &type;
  if (inner->has_optional_type()) {
    *prefix += "optional ";
    inner = &inner->optional_type().elem_type();
  }
  if (inner->has_sequence_type()) {
    *prefix += "sequence of ";
    inner = &inner->sequence_type().elem_type();
  }
  return *inner;
}

SummaryValue value_of(const ::hearth_onnx::ValueInfoProto& info) {
  SummaryValue value;
  value.name = info.name();
  const ::hearth_onnx::TypeProto& type = inner_type(info.type(), &value.type);
  value.is_sequence = value.type.find("sequence") != std::string::npos;
  if (!type.has_tensor_type()) {
    value.type += "?";
    return value;
  }
  value.type += element_type_name(type.tensor_type().elem_type());
  value.has_shape = type.tensor_type().has_shape();
  for (const auto& dim : type.tensor_type().shape().dim()) {
    SummaryDim& added = value.shape.emplace_back();
    if (!is_symbolic(dim)) added.length = dim.dim_value();
    added.name = name_of_dim(info.name(), static_cast<int>(value.shape.size()) - 1, dim);
  }
  return value;
}

std::uint64_t bytes_of(const ::hearth_onnx::TensorProto& tensor) {
  const auto bytes = client::catch_jit_error([&] {
    const Ints shape(tensor.dims().begin(), tensor.dims().end());
    return static_cast<std::uint64_t>(stored_bytes(tensor.data_type(), shape));
  });
  return bytes.ok() ? *bytes : tensor.raw_data().size();
}

void add_values(const ::hearth_onnx::GraphProto& graph, ModelSummary* summary) {
  std::set<std::string> initializers;
  for (const ::hearth_onnx::TensorProto& tensor : graph.initializer()) {
    initializers.insert(tensor.name());
    SummaryParameters& parameters = summary->parameters[std::string(element_type_name(tensor.data_type()))];
    ++parameters.count;
    parameters.bytes += bytes_of(tensor);
  }
  std::vector<std::string> dims;
  DimNames names;
  for (const ::hearth_onnx::ValueInfoProto& input : graph.input()) {
    SummaryValue& value = summary->inputs.emplace_back(value_of(input));
    value.has_default = initializers.count(input.name()) > 0;
    if (value.has_default || value.is_sequence) continue;
    for (const SummaryDim& dim : value.shape) {
      if (dim.length >= 0) continue;
      dims.push_back(dim.name);
      names.add(dim.name);
    }
  }
  std::set<std::string> seen;
  for (const std::string& dim : dims) {
    if (names.expression(dim) == nullptr && seen.insert(dim).second) summary->symbolic_dims.push_back(dim);
  }
  for (const ::hearth_onnx::ValueInfoProto& output : graph.output()) summary->outputs.push_back(value_of(output));
}

void add_operators(const ModelFilePtr& model, ModelSummary* summary) {
  std::map<std::string, SummaryOperator> operators;
  for_each_node(model->proto(), [&](const ::hearth_onnx::NodeProto& node, const ::hearth_onnx::FunctionProto*) {
    ++summary->num_nodes;
    const std::string name = operator_name(node);
    SummaryOperator& op = operators[name];
    op.name = name;
    ++op.count;
    if (name != "Constant") return;
    for (const ::hearth_onnx::AttributeProto& attribute : node.attribute()) {
      if (!attribute.has_t()) continue;
      ++summary->constants.count;
      summary->constants.bytes += bytes_of(attribute.t());
    }
  });
  const absl::StatusOr<ModelCheck> checked = check_model(model);
  if (!checked.ok()) summary->refused = std::string(checked.status().message());
  if (checked.ok()) {
    for (const MissingNode& node : checked->missing_unneeded) operators[node.op].missing = node.reason;
    for (const MissingNode& node : checked->missing) operators[node.op].missing = node.reason;
  }
  for (auto& [name, op] : operators) summary->operators.push_back(std::move(op));
}

}  // namespace

ModelSummary summarize(const ModelFilePtr& model) {
  const ::hearth_onnx::ModelProto& proto = model->proto();
  ModelSummary summary;
  summary.ir_version = proto.ir_version();
  summary.model_version = proto.model_version();
  summary.producer = proto.producer_name();
  if (!proto.producer_version().empty()) str_append(&summary.producer, " ", proto.producer_version());
  summary.graph_name = proto.graph().name();
  for (const auto& set : proto.opset_import()) summary.opsets[normal_domain(set.domain())] = set.version();
  add_values(proto.graph(), &summary);
  const auto places = client::catch_jit_error([&] { return external_places(proto); });
  if (places.ok()) {
    for (const ExternalPlace& place : *places) summary.external_files[place.location] += place.length;
  }
  add_operators(model, &summary);
  return summary;
}

}  // namespace hearth::onnx
