// layout_cost: estimated cycles of the kernel of one stage when the axes of what it reads and makes lie in memory in a
// given way. For comparing layouts only: what no layout changes (arithmetic, launches) is left out. Pure.
#pragma once
#include "absl/functional/function_ref.h"
#include "compiler/passes/ranged/stage_facts.h"
#include "compiler/target/target.h"

namespace hearth::passes {

struct Layouts {
  // Position of the axis that is innermost in memory, of a stage or a buffer with axes.
  absl::FunctionRef<std::size_t(ir::UOpRef)> innermost;
  // Whether it holds the same at every replay: such operands are packed as the kernel wants them, for nothing.
  absl::FunctionRef<bool(ir::UOpRef)> is_invariant;
  // Axes of a stage along which it is padded: where it is computed in place, these are conditions.
  absl::FunctionRef<std::vector<std::size_t>(ir::UOpRef)> padded;
};

double layout_cycles(const StageFacts& stage, const Layouts& layouts, const target::Target& target);

}  // namespace hearth::passes
