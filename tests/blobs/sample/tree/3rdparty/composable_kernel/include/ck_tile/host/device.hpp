// Which device this is.
#pragma once
#include <hip/hip_runtime.h>

#include <string>

namespace ck_tile {

// "gfx942" of "gfx942:sramecc+:xnack-"; empty when there is no device.
inline std::string get_device_name() {
  int device = 0;
  hipDeviceProp_t properties{};
  if (hipGetDevice(&device) != hipSuccess) return {};
  if (hipGetDeviceProperties(&properties, device) != hipSuccess) return {};
  const std::string name(properties.gcnArchName);
  return name.substr(0, name.find(':'));
}

}  // namespace ck_tile
