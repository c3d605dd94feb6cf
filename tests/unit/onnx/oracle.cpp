#include "tests/unit/onnx/oracle.h"

#include <catch2/catch.hpp>

#include <cstring>

#include "compiler/codegen/reference/graph_interpreter.h"
#include "compiler/passes/import.h"
#include "runtime/text.h"

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
  ir::Graph graph;
  auto imported = passes::import_graph(graph, traced->graph);
  if (!imported.ok()) return imported.status();
  reference::Bindings bindings;
  for (std::size_t id = 0; id < imported->buffers.size(); ++id) {
    const passes::ImportedBuffer& buffer = imported->buffers[id];
    const auto dtype = static_cast<DType>(buffer.dtype.scalar);
    std::vector<std::int64_t> shape;
    if (buffer.kind == ir::BufferKind::Constant || buffer.kind == ir::BufferKind::Parameter) {
      for (ir::UOpRef dim : buffer.shape) shape.push_back(dim->int_value());
    }
    if (buffer.kind == ir::BufferKind::Constant) {
      bindings.emplace(id, host(dtype, shape, buffer.data.data(), buffer.data.size()));
    } else if (buffer.kind == ir::BufferKind::Parameter) {
      const client::ParameterData& data = traced->parameters.at(buffer.name);
      bindings.emplace(id, host(dtype, shape, data.data, data.size));
    } else {
      const auto input = inputs.find(buffer.name);
      if (input == inputs.end()) return absl::InvalidArgumentError(str_cat("no array for input '", buffer.name, "'"));
      bindings.emplace(id, host(dtype, input->second.shape, input->second.bytes.data(), input->second.bytes.size()));
    }
  }
  std::vector<std::int64_t> values;
  for (const v1::Variable& variable : traced->graph.vars()) {
    const auto value = vars.find(variable.name());
    if (value == vars.end()) return absl::InvalidArgumentError(str_cat("no value for '", variable.name(), "'"));
    values.push_back(value->second);
  }
  const auto results = reference::interpret(imported->outputs, bindings, values);
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
