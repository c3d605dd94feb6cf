// What every Vulkan device with buffer addresses can do, and what is wrong with a record of one.
#pragma once
#include "absl/status/status.h"
#include "compiler/target/target.h"

namespace hearth::target {

Capabilities vulkan_capabilities(const v1::Target& record);

// INVALID_ARGUMENT names the field; UNIMPLEMENTED where kernels could not find their buffers.
absl::Status check_vulkan_record(const v1::Target& record);

}  // namespace hearth::target
