// Kinds of devices that this build compiles for and does not run on yet: CUDA's and HIP's. Their names, formats and
// records are there for `emit`, `explain`, `prewarm` and `export --target`; asked for a device, they say so. Thread-safe.
#pragma once
#include "runtime/hal/driver.h"

namespace hearth::runtime {

const Driver& cuda_driver();
const Driver& hip_driver();

}  // namespace hearth::runtime
