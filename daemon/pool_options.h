// What the daemon's two pools of workers are, by its configuration: programs, limits, what they may read. Reads the
// environment and the file system. Example:
//   WorkerPool pool(compiler_pool_options(config), &poison, &metrics);
#pragma once
#include "daemon/config.h"
#include "daemon/worker_pool/worker_pool.h"

namespace hearth::daemon {

WorkerPoolOptions compiler_pool_options(const Config& config);
WorkerPoolOptions blob_pool_options(const Config& config);

// With `sandbox = required`: starts one worker of each class and lets it go, so that a machine that cannot confine them
// is told of before anybody waits for a kernel.
absl::Status check_sandbox(const Config& config);

}  // namespace hearth::daemon
