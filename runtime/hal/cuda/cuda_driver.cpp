#include "runtime/hal/cuda/cuda_driver.h"

#include "runtime/hal/cuda/cuda_api.h"
#include "runtime/hal/stream/stream_driver.h"

namespace hearth::runtime {

const Driver& cuda_driver() {
  static const StreamDriver& driver = *new StreamDriver(
      {"cuda",
       "CUDA",
       {"ptx", ".ptx"},
       gpu_targets(
           "cuda", "nvptx64-nvidia-cuda",
           {{"sm_70", 32}, {"sm_75", 32}, {"sm_80", 32}, {"sm_86", 32}, {"sm_89", 32}, {"sm_90", 32}, {"sm_90a", 32}},
           48 << 10),
       &cuda_api});
  return driver;
}

}  // namespace hearth::runtime
