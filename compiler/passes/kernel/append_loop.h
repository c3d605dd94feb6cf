// append_loop: the launches of a loop's body, lowered as a graph of its own, become launches of the schedule around it
// that are run again and again. What the body reads and makes become views (proto/hearth/v1/plan.proto, LoopView);
// what is made of parameters alone is made once, and what does not differ from step to step in front of the loop;
// kernels are shared with those of the graph around.
#pragma once
#include <functional>
#include <vector>

#include "compiler/passes/import/import.h"
#include "compiler/passes/kernel/schedule.h"

namespace hearth::passes {

// Where a loop stands: in the schedule around, whose buffers these are.
struct LoopPlace {
  Schedule& schedule;
  std::vector<std::uint32_t> operands;                // by number
  std::vector<std::optional<std::uint32_t>> results;  // by number; none for what nobody reads
};

// `kernel_of` finds or adds a kernel of the schedule around.
void append_loop(const LoopPlace& place, const ImportedLoop& loop, const Schedule& body,
                 const std::function<std::uint32_t(const PlannedKernel&)>& kernel_of);

}  // namespace hearth::passes
