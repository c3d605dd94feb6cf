// The few names of the HIP runtime that the CPU flavour's host code uses.
#pragma once
#include <cmath>
#include <cstdlib>
#include <cstring>

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

using hipStream_t = void*;
enum hipError_t { hipSuccess = 0, hipErrorInvalidValue = 1 };
struct hipDeviceProp_t {
  char name[256];
  char gcnArchName[256];
  int multiProcessorCount;
};

inline hipError_t hipGetDevice(int* device) {
  *device = 0;
  return hipSuccess;
}
// The device is named by SAMPLE_DEVICE_NAME, so that dispatch by device can be tested.
inline hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int) {
  const char* name = std::getenv("SAMPLE_DEVICE_NAME");
  if (name == nullptr) name = "gfx942";
  if (std::strlen(name) >= sizeof properties->gcnArchName) return hipErrorInvalidValue;
  std::strcpy(properties->name, name);
  std::strcpy(properties->gcnArchName, name);
  properties->multiProcessorCount = 8;
  return hipSuccess;
}
