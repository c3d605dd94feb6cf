// What a schedule goes by on a device that is this host's processors, as Mesa's llvmpipe is.
#pragma once
#include "hearth/v1/artifact.pb.h"

namespace hearth::runtime {

// Measured on products of 512 by llvmpipe of Mesa 22.3: a load is a loop over the invocations of a vector, 0.53 ns where
// a multiply-add is 0.033; 256 sums, far more than a processor has registers, are still the fastest of 16 to 256.
inline void describe_software(v1::GpuLimits& gpu) {
  gpu.set_register_values(256);
  gpu.set_wanted_invocations(128);  // of 16 processors, with vectors of eight; the same on all machines, as keys are
  gpu.set_load_cost(16);
  gpu.set_shared_load_cost(16);  // it is ordinary memory
  gpu.set_single_loads(true);    // with columns apart a product of 512 takes 1.57 times as long by Mesa 25
}

}  // namespace hearth::runtime
