// Devices "cuda" and "cuda:N", and the records of NVIDIA's GPUs.
#pragma once
#include "runtime/hal/driver.h"

namespace hearth::runtime {

const Driver& cuda_driver();

}  // namespace hearth::runtime
