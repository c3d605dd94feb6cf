#include "client/trace/recorded_loop.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "client/trace/node.h"

namespace hearth::client {
namespace {

// What a node depends on at most.
enum class Reach { kConstants, kParameters, kAround, kStep };

Reach reach_of(const Node& node, const std::unordered_map<const Node*, Reach>& known) {
  Reach reach = Reach::kConstants;
  if (node.op == v1::PARAMETER) reach = Reach::kParameters;
  if (node.op == v1::INPUT || node.op == v1::LOOP) reach = Reach::kAround;
  for (const Tensor& input : node.inputs) reach = std::max(reach, known.at(input.node().get()));
  return reach;
}

// Reads elsewhere instead of computing: cheaper in every step than its result in memory.
bool is_movement(v1::Op op) {
  return op == v1::RESHAPE || op == v1::EXPAND || op == v1::PERMUTE || op == v1::SHRINK || op == v1::FLIP;
}

}  // namespace

std::vector<Tensor> find_invariants(const std::vector<Tensor>& outputs, const std::vector<Tensor>& placeholders) {
  std::unordered_map<const Node*, Reach> reach;  // looked up, never iterated
  for (const Tensor& placeholder : placeholders) reach[placeholder.node().get()] = Reach::kStep;
  std::vector<std::pair<Tensor, std::size_t>> stack;
  for (const Tensor& output : outputs) {
    stack.emplace_back(output, 0);
    while (!stack.empty()) {
      auto& [tensor, next] = stack.back();
      const Node* node = tensor.node().get();
      if (reach.contains(node)) {
        stack.pop_back();
      } else if (next < node->inputs.size()) {
        const Tensor input = node->inputs[next++];
        stack.emplace_back(input, 0);
      } else {
        reach[node] = reach_of(*node, reach);
        stack.pop_back();
      }
    }
  }
  // Down from the outputs: what a step computes, down to what is around it and to parameters.
  std::vector<Tensor> invariants;
  std::unordered_set<const Node*> seen;
  std::vector<Tensor> open(outputs.rbegin(), outputs.rend());
  for (const Tensor& placeholder : placeholders) seen.insert(placeholder.node().get());
  while (!open.empty()) {
    const Tensor tensor = std::move(open.back());
    open.pop_back();
    const Node& node = *tensor.node();
    if (!seen.insert(&node).second) continue;
    const bool is_around = reach.at(&node) == Reach::kAround && !is_movement(node.op);
    if (is_around || node.op == v1::PARAMETER) {
      invariants.push_back(tensor);
      continue;
    }
    open.insert(open.end(), node.inputs.rbegin(), node.inputs.rend());
  }
  return invariants;
}

}  // namespace hearth::client
