// Weights on a device that does not reach the host's memory: what kernels read is uploaded into one block, which all
// plans of this process have that make theirs of the same bytes, and where the device and `sharing` let them, those of
// other processes. A block is forgotten with the last plan that has it.
// Inside runtime/ only.
#pragma once
#include "runtime/hal/device.h"
#include "runtime/weights/weight_place.h"
#include "runtime/weights/weight_sharing.h"

namespace hearth::runtime {

// The device outlives the place.
std::unique_ptr<WeightPlace> device_weights(const Device& device, WeightSharing* sharing);

}  // namespace hearth::runtime
