// check_bounds: every load and store of a flat kernel is proved to touch elements 0 .. size-1 of its buffer whenever
// its gate holds, for every value of the variables. What construction promises is checked here, once a kernel, after
// the last pass that makes positions; what cannot be proved gets the missing comparison as part of its gate.
//
// Before and after: a kernel AST with scalar positions (split_kernels.h). First the position's own bounds, then
// rules/inequality with the gate, the loops' lengths and "loops around the access run at least once" (guard_loads sees
// to that). Cost: linear in the kernel's nodes, a bounded number of steps an access.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace hearth::passes {

struct BoundsCount {
  std::uint64_t accesses = 0;   // distinct index nodes
  std::uint64_t by_bounds = 0;  // decided by the position's own bounds
  std::uint64_t by_proof = 0;   // by the gate and the loops
  std::uint64_t guarded = 0;    // by a comparison added to the gate
  std::int64_t time_ns = 0;
  void add(const BoundsCount& other);
};
std::string to_string(const BoundsCount& count);

struct UnprovedAccess {
  ir::UOpRef index = nullptr;                   // the Index node
  ir::UOpRef size = nullptr;                    // elements of its buffer; null: a slot without a size
  bool below_zero = false, beyond_end = false;  // what could not be excluded
};

// `sizes[slot]`: elements behind a param slot, an index expression over the kernel's Var nodes.
std::vector<UnprovedAccess> unproved_accesses(ir::Graph& graph, ir::UOpRef kernel, std::span<const ir::UOpRef> sizes,
                                              BoundsCount& count);

// `kernel` with a guard at each unproved access; adds to `count`.
ir::UOpRef guard_bounds(ir::Graph& graph, ir::UOpRef kernel, std::span<const ir::UOpRef> sizes, BoundsCount& count);

}  // namespace hearth::passes
