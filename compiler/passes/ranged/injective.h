// injective: whether distinct values of a stage's ranges give distinct positions, that is whether a use at `at` reads
// each element of the stage no more than once.
#pragma once
#include <span>

#include "compiler/ir/uop.h"

namespace hearth::passes {

// `own` are the stage's ranges, outermost first; `at` is one position for each. False when it cannot be seen.
bool injective(std::span<const ir::UOpRef> own, std::span<const ir::UOpRef> at);

}  // namespace hearth::passes
