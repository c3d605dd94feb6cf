// summed_slots: the buffers whose f32 or bf16 values a kernel multiplies, adds and turns into integers, at places that no
// value decides, and does nothing else with. Where those are weights, the runtime may put zeros in place of subnormal
// ones (runtime/weights/subnormal_weights.h): a divisor, the argument of a logarithm or what is copied to a result is no
// such value.
#pragma once
#include <cstddef>
#include <vector>

#include "compiler/ir/graph.h"

namespace hearth::passes {

// One for each of `num_slots` slots of a kernel at Level::Kernel.
std::vector<bool> summed_slots(ir::UOpRef kernel, std::size_t num_slots);

}  // namespace hearth::passes
