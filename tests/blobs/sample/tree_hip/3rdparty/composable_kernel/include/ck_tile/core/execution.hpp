// HIP flavour: a kernel is told its block and thread, which the launcher takes from the device.
#pragma once
#include <hip/hip_runtime.h>

#define CK_TILE_DEVICE __device__
#define CK_TILE_HOST_DEVICE __host__ __device__

namespace ck_tile {

struct block_context {
  unsigned x, y, z;
  int thread;
};

template <int kBlockSize>
inline constexpr int threads_of_block = kBlockSize;

__device__ inline void add_to(float* where, float value) { atomicAdd(where, value); }

}  // namespace ck_tile
