// spec: what is legal at each stage of the pipeline. Run after every pass; a violation is an internal error that names
// the pass and the node, never a wrong kernel.
#pragma once
#include <string_view>

#include "absl/status/status.h"
#include "compiler/passes/lowered/linearize.h"

namespace hearth::passes {

enum class Level {
  Tensor,     // after import, canonicalize: tensor-level ops, no ranges
  Ranged,     // after rangeify, fuse: stages and scalar expressions, no movement op
  Flat,       // after flatten: store nests over params and allocations, every range a plain loop or reduced
  Scheduled,  // after apply_opts: ranges that become lanes, unrolled or a matrix unit's are marked
  Kernel,     // after mark_grid: a range may be the grid
  Expanded,   // after expand: no Unroll or Lanes range
  Lowered,    // after decompose and lower_index: no index dtype, no transcendental
};

absl::Status check(Level level, std::string_view pass, ir::UOpRef root);

// The rules at the top of linearize.h.
absl::Status check_linear(const LinearKernel& kernel);

}  // namespace hearth::passes
