#include "client/trace/graph_inputs.h"

#include <unordered_set>

namespace hearth::client {

std::vector<const Node*> graph_inputs(const NamedTensors& outputs) {
  std::vector<const Node*> open;
  std::vector<const Node*> inputs;
  std::unordered_set<const Node*> seen;
  const auto visit = [&](const Tensor& tensor) {
    if (!tensor.empty() && seen.insert(tensor.node().get()).second) open.push_back(tensor.node().get());
  };
  for (const auto& [name, tensor] : outputs) visit(tensor);
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (node->op == v1::INPUT) inputs.push_back(node);
    for (const Tensor& input : node->inputs) visit(input);
  }
  return inputs;
}

}  // namespace hearth::client
