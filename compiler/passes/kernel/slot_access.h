// slot_access: which elements of each buffer a unit of a kernel's grid touches. Launches whose units keep to elements
// of their own can follow each other unit by unit (passes/plan/parallel_regions).
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/ir/graph.h"

namespace hearth::passes {

struct SlotAccess {
  bool stored = false;
  // Unit u touches elements u * unit_elements up to (u + 1) * unit_elements alone, if so much is known.
  std::optional<std::int64_t> unit_elements;
};

// One for each of `num_slots` slots of a kernel that mark_grid has seen. Without a grid nothing is known.
std::vector<SlotAccess> slot_accesses(ir::UOpRef kernel, std::size_t num_slots);

}  // namespace hearth::passes
