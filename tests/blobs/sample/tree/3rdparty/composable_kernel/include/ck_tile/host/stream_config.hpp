// How a kernel is launched.
#pragma once
#include <hip/hip_runtime.h>

namespace ck_tile {

struct stream_config {
  hipStream_t stream_id_ = nullptr;
  bool time_kernel_ = false;
  int log_level_ = 0;
  int cold_niters_ = 3;
  int nrepeat_ = 10;
  bool is_gpu_timer_ = true;
};

}  // namespace ck_tile
