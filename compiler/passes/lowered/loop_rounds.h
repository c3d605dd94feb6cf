// loop_rounds: how many rounds the loops of one invocation make, at the variables' upper bounds. The loop over the grid
// counts as one round: it is what invocations divide.
#pragma once
#include <cstdint>

#include "compiler/passes/lowered/linearize.h"

namespace hearth::passes {

// All loops together, inner ones as often as they run; at most 2^62.
std::int64_t loop_rounds(const LinearKernel& kernel);

// Not less than loop_rounds of what a kernel's AST is lowered to.
std::int64_t loop_rounds_bound(ir::UOpRef kernel_ast);

}  // namespace hearth::passes
