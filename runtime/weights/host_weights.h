// Weights in the host's memory: parameters are read where they are, the block is another process's, or is made here, in
// a memory file when somebody may want it. Inside runtime/ only.
#pragma once
#include "runtime/weights/weight_place.h"
#include "runtime/weights/weight_sharing.h"

namespace hearth::runtime {

// `sharing`: null keeps the weights to this process; outlives the place.
std::unique_ptr<WeightPlace> host_weights(WeightSharing* sharing);

}  // namespace hearth::runtime
