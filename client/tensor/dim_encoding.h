// A Dim as the wire has it. Inside client/ only. Thread-safe. Errors: JitError for a variable that was not collected.
//
//   std::vector<Variable> vars;
//   dim.collect_variables(vars);
//   encode(dim, vars, node.add_args());
#pragma once
#include <vector>

#include "hearth/dim.h"
#include "hearth/v1/graph.pb.h"

namespace hearth::client {

// Postfix tokens; variables by their index in `vars`.
void encode(const Dim& dim, const std::vector<Variable>& vars, v1::Expr* out);

}  // namespace hearth::client
