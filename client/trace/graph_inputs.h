// The INPUT nodes that tensors depend on. Inside client/ only. Thread-safe.
//
//   for (const Node* node : graph_inputs({{"y", y}})) names.push_back(node->name);
#pragma once
#include <vector>

#include "client/trace/node.h"

namespace hearth::client {

// Each once, in no order that means anything; empty handles are passed over.
std::vector<const Node*> graph_inputs(const NamedTensors& outputs);

}  // namespace hearth::client
