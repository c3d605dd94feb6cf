#include "runtime/hal/hip/hip_driver.h"

#include "runtime/hal/hip/hip_api.h"
#include "runtime/hal/stream/stream_driver.h"

namespace hearth::runtime {

const Driver& hip_driver() {
  static const StreamDriver& driver = *new StreamDriver({"hip",
                                                         "HIP",
                                                         {"hsaco", ".hsaco"},
                                                         gpu_targets("hip", "amdgcn-amd-amdhsa",
                                                                     {{"gfx90a", 64},
                                                                      {"gfx942", 64},
                                                                      {"gfx1100", 32},
                                                                      {"gfx1101", 32},
                                                                      {"gfx1102", 32},
                                                                      {"gfx1103", 32},
                                                                      {"gfx1200", 32},
                                                                      {"gfx1201", 32},
                                                                      {"gfx11-generic", 32},
                                                                      {"gfx12-generic", 32}},
                                                                     64 << 10),
                                                         &hip_api});
  return driver;
}

}  // namespace hearth::runtime
