// A vector position is often one scalar and a constant a lane: then its lanes are constants away from one address.
#pragma once
#include <cstdint>
#include <vector>

#include "compiler/ir/uop.h"

namespace hearth::codegen {

// False when `position` is no such sum. Else lane i is the sum of `scalars`, which are appended, plus offsets[i].
bool split_lanes(ir::UOpRef position, std::vector<ir::UOpRef>& scalars, std::vector<std::int64_t>& offsets);

}  // namespace hearth::codegen
