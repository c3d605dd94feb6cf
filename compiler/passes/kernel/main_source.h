// main_source: the node or line of the model that most of a kernel's work is for, where a kernel computes many. For
// people (`hearth explain`).
#pragma once
#include <string>

#include "compiler/ir/graph.h"

namespace hearth::passes {

// The source text to which most of a stage's arithmetic belongs; among equals the one whose nodes have the most
// evaluations; never an input of an ONNX graph. Empty: nothing is known.
std::string main_source(const ir::Graph& graph, ir::UOpRef stage);

}  // namespace hearth::passes
