// HIP's driver (libamdhip64.so, of ROCm 5.2 to 7), for the devices of hal/stream.
//
//   absl::StatusOr<const StreamApi*> api = hip_api();
#pragma once
#include "runtime/hal/stream/stream_api.h"

namespace hearth::runtime {

// Opened and initialised when it is first asked for, once. NOT_FOUND without a driver or a GPU; FAILED_PRECONDITION for
// one that is too old.
absl::StatusOr<const StreamApi*> hip_api();

}  // namespace hearth::runtime
