// The CPU as a driver, with the records of processors that are not at hand: "cpu:x86-64-v3", "cpu:x86-64-v4",
// "cpu:armv8.2-a". Thread-safe.
#pragma once
#include "runtime/hal/driver.h"

namespace hearth::runtime {

const Driver& cpu_driver();

}  // namespace hearth::runtime
