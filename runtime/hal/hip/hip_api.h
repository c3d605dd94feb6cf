// HIP's driver (libamdhip64.so, of ROCm 5.2 to 7), for the devices of hal/stream.
//
//   absl::StatusOr<const StreamApi*> api = hip_api();
#pragma once
#include "runtime/hal/stream/stream_api.h"

namespace hearth::runtime {

// hip_runtime_api.h: hipKernelNodeParams.
struct HipKernelNode {
  unsigned block[3];
  void** extra;
  void* function;
  unsigned grid[3];
  void** parameters;
  unsigned shared_bytes;
};

// Opened and initialised when it is first asked for, once. NOT_FOUND without a driver or a GPU; FAILED_PRECONDITION for
// one that is too old.
absl::StatusOr<const StreamApi*> hip_api();

}  // namespace hearth::runtime
