// Devices "hip" and "hip:N", and the records of AMD's GPUs.
#pragma once
#include "runtime/hal/driver.h"

namespace hearth::runtime {

const Driver& hip_driver();

}  // namespace hearth::runtime
