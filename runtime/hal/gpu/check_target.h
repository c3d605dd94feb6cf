// Whether kernels that were compiled for a target run on a GPU with another record. FAILED_PRECONDITION says what it
// lacks.
#pragma once
#include "absl/status/status.h"
#include "runtime/hal/driver.h"

namespace hearth::runtime {

absl::Status check_gpu_target(const v1::Target& target, const DeviceInfo& device);

}  // namespace hearth::runtime
