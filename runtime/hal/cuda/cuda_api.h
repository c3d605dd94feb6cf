// CUDA's driver (libcuda.so.1), for the devices of hal/stream. Everything is in a device's primary context, which it shares
// with what else of this process uses the device.
//
//   absl::StatusOr<const StreamApi*> api = cuda_api();
#pragma once
#include "runtime/hal/stream/stream_api.h"

namespace hearth::runtime {

// cuda.h: CUDA_KERNEL_NODE_PARAMS_v2; _v1, of drivers before CUDA 12, is all but the last two.
struct CudaKernelNode {
  void* function;
  unsigned grid[3], block[3], shared_bytes;
  void** parameters;
  void** extra;
  void* kernel;   // null: `function`
  void* context;  // null: the thread's
};

// Opened and initialised when it is first asked for, once. NOT_FOUND without a driver; FAILED_PRECONDITION for one that
// is too old, or that finds no GPU.
absl::StatusOr<const StreamApi*> cuda_api();

}  // namespace hearth::runtime
