#include "runtime/devices/named_target.h"

#include <absl/strings/str_join.h>

#include "base/text.h"
#include "runtime/devices/devices.h"

namespace hearth::runtime {

std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (const Driver* const driver : drivers()) {
    for (const NamedTarget& target : driver->targets()) names.push_back(target.name);
  }
  return names;
}

absl::StatusOr<v1::Target> named_target(std::string_view name) {
  if (const Driver* const driver = find_driver(name)) {
    for (NamedTarget& target : driver->targets()) {
      if (target.name == name) return std::move(target.record);
    }
  }
  return absl::NotFoundError(
      str_cat("there is no target '", name, "'; the known ones are ", absl::StrJoin(target_names(), ", ")));
}

}  // namespace hearth::runtime
