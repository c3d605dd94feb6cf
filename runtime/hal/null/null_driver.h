// The null device as a driver. Thread-safe.
#pragma once
#include "runtime/hal/driver.h"

namespace hearth::runtime {

const Driver& null_driver();

}  // namespace hearth::runtime
