#include "client/jit/request.h"

#include "absl/strings/str_split.h"
#include "base/text.h"
#include "runtime/hal/device.h"

namespace hearth::client {

absl::StatusOr<std::vector<std::string>> device_names(const std::string& list) {
  std::vector<std::string> names = absl::StrSplit(list, ',');
  for (const std::string& name : names) {
    if (name.empty())
      return absl::InvalidArgumentError(str_cat("'", list, "' names no device; expected one, or several: vulkan,cpu"));
  }
  return names;
}

absl::StatusOr<v1::Target> target_for(const PrepareConfig& config) {
  const absl::StatusOr<int> threads = choose_threads(config.threads);
  if (!threads.ok()) return threads.status();
  const absl::StatusOr<std::vector<std::string>> names = device_names(config.device);
  if (!names.ok()) return names.status();
  absl::Status last;
  for (const std::string& name : *names) {
    const absl::StatusOr<const runtime::Device*> device = runtime::find_device(name);
    if (device.ok()) return (*device)->target(*threads);
    last = device.status();
  }
  return last;
}

}  // namespace hearth::client
