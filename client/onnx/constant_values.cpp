#include "client/onnx/constant_values.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "client/trace/encoded_graph.h"
#include "client/trace/node.h"
#include "compiler/codegen/reference/wire_expr.h"
#include "compiler/codegen/reference/wire_interpreter.h"

namespace hearth::onnx {
namespace {

namespace reference = codegen::reference;

// The work of all nodes that the tensor is made of; nothing where an input, a variable or a loop is among them.
std::optional<std::int64_t> work_of(const client::Tensor& tensor) {
  std::unordered_set<const client::Node*> seen;
  std::vector<const client::Node*> open;
  const auto visit = [&](const client::Tensor& x) {
    if (!x.empty() && seen.insert(x.node().get()).second) open.push_back(x.node().get());
  };
  visit(tensor);
  std::int64_t work = 0;
  const auto add = [&](const client::Shape& shape, std::int64_t each) {
    __int128 elements = each;
    for (const client::Dim& dim : shape) elements = std::min<__int128>(elements * dim.value(), kMaxConstantWork + 1);
    work = std::min<std::int64_t>(work + static_cast<std::int64_t>(elements), kMaxConstantWork + 1);
  };
  while (!open.empty()) {
    const client::Node* node = open.back();
    open.pop_back();
    const auto is_known = [](const client::Dim& dim) { return dim.is_const(); };
    if (node->op == v1::INPUT || node->op == v1::LOOP) return std::nullopt;
    if (!std::ranges::all_of(node->shape, is_known) || !std::ranges::all_of(node->args, is_known)) return std::nullopt;
    const bool is_product = node->op == v1::MATMUL && !node->inputs.empty();
    add(node->shape, is_product ? std::max<std::int64_t>(1, node->inputs[0].shape().back().value()) : 1);
    for (const client::Tensor& input : node->inputs) visit(input);
  }
  return work;
}

}  // namespace

bool is_constant(const client::Tensor& tensor) { return work_of(tensor).has_value(); }

std::optional<HostTensor> constant_value(const client::Tensor& tensor) {
  const std::optional<std::int64_t> work = work_of(tensor);
  if (!work || *work > kMaxConstantWork) return std::nullopt;
  const auto traced = client::encode_graph({{"value", tensor}});
  if (!traced.ok()) return std::nullopt;
  reference::WireBindings bindings;
  for (const v1::Node& node : traced->graph.nodes()) {
    if (node.op() != v1::PARAMETER) continue;
    const client::ParameterData& data = traced->parameters.at(node.name());
    reference::HostTensor& value = bindings[node.name()];
    value.dtype = static_cast<ir::Scalar>(node.dtype());
    for (const v1::Expr& length : node.args()) value.shape.push_back(reference::evaluate(length, {}));
    // Through a host tensor, so that a mapped file that has shrunk is an error.
    const HostTensor bytes = HostTensor::mapped(static_cast<DType>(node.dtype()), value.shape, data.owner, data.data);
    value.bytes.assign(bytes.data(), bytes.data() + bytes.bytes());
  }
  const auto values = reference::interpret_wire(traced->graph, bindings, {});
  if (!values.ok()) return std::nullopt;
  const reference::HostTensor& value = values->at(0);
  return HostTensor(static_cast<DType>(value.dtype), value.shape, {value.bytes.begin(), value.bytes.end()});
}

}  // namespace hearth::onnx
