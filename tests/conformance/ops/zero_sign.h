// Which results may differ in the sign of a zero: the ops whose semantics (compiler/ir/uop.h) leave it open, by name,
// and what is computed from them. Everything else is compared with -0 different from +0.
//
//   std::vector<bool> any = nodes_of_any_zero_sign(graph);   // any[k]: node k's zeros may have either sign
#pragma once
#include <span>
#include <vector>

#include "hearth/v1/graph.pb.h"

namespace hearth::conformance {

struct OpOfAnyZeroSign {
  v1::Op op;
  const char* reason;
};
// For floats.
std::span<const OpOfAnyZeroSign> ops_of_any_zero_sign();

std::vector<bool> nodes_of_any_zero_sign(const v1::Graph& graph);

}  // namespace hearth::conformance
