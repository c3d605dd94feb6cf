#include "client/jit/request.h"

#include "runtime/hal/device.h"

namespace hearth::client {

absl::StatusOr<v1::Target> target_for(const PrepareConfig& config) {
  const absl::StatusOr<const runtime::Device*> device = runtime::find_device(config.device);
  if (!device.ok()) return device.status();
  const absl::StatusOr<int> threads = choose_threads(config.threads);
  if (!threads.ok()) return threads.status();
  return (*device)->target(*threads);
}

}  // namespace hearth::client
