// Weight blocks on devices that do not reach the host's memory, of all plans of this process: two plans that make their
// blocks of the same bytes have one. A block is forgotten with the last plan that has it. Thread-safe; no errors.
// Inside runtime/ only.
//
//   std::shared_ptr<WeightBlock> block = find_device_weights(device, key);   // null: make it, then add_device_weights
#pragma once
#include <memory>

#include "base/sha256.h"
#include "runtime/hal/device.h"
#include "runtime/weights/weight_block.h"

namespace hearth::runtime {

// `key`: of what the block is made of (weight_key), which holds as long as a plan has the block.
std::shared_ptr<WeightBlock> find_device_weights(const Device& device, const Digest& key);
// Filled, and never written to again.
void add_device_weights(const Device& device, const Digest& key, const std::shared_ptr<WeightBlock>& block);

}  // namespace hearth::runtime
