#include "runtime/devices/named_target.h"

#include <absl/strings/str_join.h>

#include "base/status_macros.h"
#include "base/text.h"
#include "runtime/devices/devices.h"
#include "runtime/hal/cpu/cpu_target.h"

namespace hearth::runtime {

std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (const Driver* const driver : drivers()) {
    for (const NamedTarget& target : driver->targets()) names.push_back(target.name);
  }
  return names;
}

absl::StatusOr<v1::Target> named_target(std::string_view name) {
  // For stand-ins of GPUs' drivers, which run kernels of a GPU's form on this host: of no use to anybody else, and in no
  // list.
  constexpr std::string_view kOnHost = "+simt";
  if (name.ends_with(kOnHost)) {
    HEARTH_ASSIGN_OR_RETURN(v1::Target target, named_target(name.substr(0, name.size() - kOnHost.size())));
    if (target.has_gpu() && !target.triple().empty()) return as_host_code(std::move(target));
  }
  if (const Driver* const driver = find_driver(name)) {
    for (NamedTarget& target : driver->targets()) {
      if (target.name == name) return std::move(target.record);
    }
  }
  return absl::NotFoundError(
      str_cat("there is no target '", name, "'; the known ones are ", absl::StrJoin(target_names(), ", ")));
}

}  // namespace hearth::runtime
