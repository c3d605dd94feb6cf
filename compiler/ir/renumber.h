// renumber: params, variables and axes of a kernel in order of appearance. Equal kernels then have equal text: that
// text is a kernel's canonical form.
//
//   Renumbered canonical = renumber(graph, kernel);
//   std::string text = print(canonical.root);
#pragma once
#include <vector>

#include "compiler/ir/graph.h"

namespace hearth::ir {

struct Renumbered {
  UOpRef root = nullptr;
  std::vector<std::uint32_t> slots;  // new param slot -> old; slot 0, the result, stays
  std::vector<std::uint32_t> vars;   // new variable slot -> old
  std::vector<std::uint32_t> axes;   // new axis -> old
};

Renumbered renumber(Graph& graph, UOpRef kernel);

}  // namespace hearth::ir
