// Vulkan as a driver, with the records of devices that are not at hand: "vulkan:lavapipe" (Mesa's software driver in
// Debian 12) and "vulkan:minimal" (what every Vulkan 1.3 device with buffer addresses can do). Nothing of a machine's
// Vulkan is loaded before a device is asked for. Thread-safe.
#pragma once
#include "runtime/hal/driver.h"

namespace hearth::runtime {

const Driver& vulkan_driver();

}  // namespace hearth::runtime
