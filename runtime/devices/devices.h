// The devices of this machine by name, of the drivers that are linked: devices.cpp lists those of the product, and a
// program adds its own with register_driver() before it asks for one. Thread-safe.
//
//   absl::StatusOr<const Device*> device = find_device("vulkan:0");
#pragma once
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/hal/device.h"
#include "runtime/hal/driver.h"

namespace hearth::runtime {

// All, in the order in which they are listed.
std::vector<const Driver*> drivers();

// The driver of a device's name ("vulkan", "vulkan:1") or a target's record; null where there is none.
const Driver* find_driver(std::string_view device);

// Whether a driver takes the name; the device need not be there.
bool is_device_name(std::string_view name);

// "cpu", "null", "vulkan" or "vulkan:" and a number, UUID or name (hal/vulkan/vulkan_device.h). NotFound names the
// drivers; other errors are the driver's.
absl::StatusOr<const Device*> find_device(std::string_view name);

// Whether threads of this process run its kernels; false of a name that is not known.
bool runs_on_host(std::string_view device);

// Borrowed; of several with one name, the last counts.
void register_driver(const Driver& driver);

}  // namespace hearth::runtime
