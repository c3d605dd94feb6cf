#include "tests/unit/onnx/oracle.h"

#include <catch2/catch.hpp>

#include <cstring>

#include "base/text.h"
#include "client/trace/encoded_graph.h"
#include "compiler/codegen/reference/wire_expr.h"
#include "compiler/codegen/reference/wire_interpreter.h"

namespace hearth::onnx {
namespace {

namespace reference = codegen::reference;

reference::HostTensor host(DType dtype, std::vector<std::int64_t> shape, const void* data, std::size_t size) {
  reference::HostTensor tensor;
  tensor.dtype = static_cast<ir::Scalar>(dtype);
  tensor.shape = std::move(shape);
  const auto* bytes = static_cast<const std::uint8_t*>(data);
  tensor.bytes.assign(bytes, bytes + size);
  return tensor;
}

}  // namespace

Array array_of(std::vector<std::int64_t> shape, const std::vector<float>& values) {
  return {DType::kF32, std::move(shape),
          std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float))};
}

std::vector<float> elements(const Array& array) {
  std::vector<float> values(array.bytes.size() / sizeof(float));
  std::memcpy(values.data(), array.bytes.data(), array.bytes.size());
  return values;
}

absl::StatusOr<std::vector<Array>> evaluate(const ImportedModel& model, const std::map<std::string, Array>& inputs) {
  return evaluate_at(model, inputs, {});
}

absl::StatusOr<std::vector<Array>> evaluate_at(const ImportedModel& model, const std::map<std::string, Array>& inputs,
                                               const std::map<std::string, std::int64_t>& vars) {
  auto traced = client::encode_graph(model.outputs);
  if (!traced.ok()) return traced.status();
  codegen::reference::WireBindings bindings;
  for (const v1::Node& node : traced->graph.nodes()) {
    const auto dtype = static_cast<DType>(node.dtype());
    if (node.op() == v1::PARAMETER) {
      std::vector<std::int64_t> shape;
      for (const v1::Expr& dim : node.args()) shape.push_back(codegen::reference::evaluate(dim, {}));
      const client::ParameterData& data = traced->parameters.at(node.name());
      bindings.emplace(node.name(), host(dtype, shape, data.data, data.size));
    } else if (node.op() == v1::INPUT) {
      const auto input = inputs.find(node.name());
      if (input == inputs.end()) return absl::InvalidArgumentError(str_cat("no array for input '", node.name(), "'"));
      bindings.emplace(node.name(),
                       host(dtype, input->second.shape, input->second.bytes.data(), input->second.bytes.size()));
    }
  }
  std::vector<std::int64_t> values;
  for (const v1::Variable& variable : traced->graph.vars()) {
    const auto value = vars.find(variable.name());
    if (value == vars.end()) return absl::InvalidArgumentError(str_cat("no value for '", variable.name(), "'"));
    values.push_back(value->second);
  }
  const auto results = codegen::reference::interpret_wire(traced->graph, bindings, values);
  if (!results.ok()) return results.status();
  std::vector<Array> arrays;
  for (const reference::HostTensor& tensor : *results) {
    arrays.push_back({static_cast<DType>(tensor.dtype), tensor.shape, {tensor.bytes.begin(), tensor.bytes.end()}});
  }
  return arrays;
}

Array first_result(const ModelBuilder& model, const std::map<std::string, Array>& inputs,
                   const ImportOptions& options) {
  const auto imported = model.import(options);
  INFO(error_of(imported));
  REQUIRE(imported.ok());
  const auto results = evaluate(*imported, inputs);
  INFO(results.status().ToString());
  REQUIRE(results.ok());
  return results->at(0);
}

}  // namespace hearth::onnx
