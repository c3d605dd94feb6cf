// What the errors of CUDA's and HIP's drivers mean to us. The numbers are the same in both (cuda.h: CUresult,
// hip_runtime_api.h: hipError_t), where both have them.
#pragma once
#include <string_view>

#include "absl/status/status.h"

namespace hearth::runtime {

inline constexpr int kOutOfMemory = 2, kNotReady = 600, kInvalidDeviceFunction = 98, kUnsupportedPtx = 222;

absl::StatusCode code_of_stream_error(int error);
// Whether nothing of the device's context can be used any more.
bool is_lost(int error);
// What its user can do, with "; " before it; empty: nothing in general.
std::string_view remedy_of(int error);

}  // namespace hearth::runtime
