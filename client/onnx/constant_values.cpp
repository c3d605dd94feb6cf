#include "client/onnx/constant_values.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "client/trace/encoded_graph.h"
#include "client/trace/node.h"
#include "client/trace/recorded_loop.h"
#include "compiler/codegen/reference/wire_expr.h"
#include "compiler/codegen/reference/wire_interpreter.h"

namespace hearth::onnx {
namespace {

namespace reference = codegen::reference;

// The work of all nodes that the tensor is made of, a loop's once for each step; nothing where an input or a variable
// is among them.
std::optional<std::int64_t> work_of(const client::Tensor& tensor) {
  struct Part {
    const client::Node* node;
    std::int64_t times;
  };
  const auto product = [](std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(std::min<__int128>(static_cast<__int128>(a) * b, kMaxConstantWork + 1));
  };
  std::unordered_set<const client::Node*> seen;
  std::vector<Part> open;
  const auto visit = [&](const client::Tensor& x, std::int64_t times) {
    if (!x.empty() && seen.insert(x.node().get()).second) open.push_back({x.node().get(), times});
  };
  visit(tensor, 1);
  std::int64_t work = 0;
  const auto is_known = [](const client::Dim& dim) { return dim.is_const(); };
  while (!open.empty()) {
    const auto [node, times] = open.back();
    open.pop_back();
    if (node->op == v1::INPUT) return std::nullopt;
    if (!std::ranges::all_of(node->shape, is_known) || !std::ranges::all_of(node->args, is_known)) return std::nullopt;
    for (const client::Tensor& input : node->inputs) visit(input, times);
    if (const client::RecordedLoop* loop = node->loop.get()) {
      if (!loop->count.is_const()) return std::nullopt;
      // What is carried and what is sliced stand for values of the step.
      for (std::size_t i = 0; i < loop->carried + loop->sliced; ++i) seen.insert(loop->operands[i].node().get());
      for (const client::Tensor& output : loop->outputs) visit(output, product(times, loop->count.value()));
      continue;
    }
    const bool is_product = node->op == v1::MATMUL && !node->inputs.empty();
    std::int64_t elements = is_product ? std::max<std::int64_t>(1, node->inputs[0].shape().back().value()) : 1;
    for (const client::Dim& dim : node->shape) elements = product(elements, dim.value());
    work = std::min(work + product(elements, times), kMaxConstantWork + 1);
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
