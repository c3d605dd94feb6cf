#include "runtime/hal/device.h"

#include "base/text.h"
#include "runtime/hal/cpu/cpu_device.h"
#include "runtime/hal/null/null_device.h"

namespace hearth::runtime {

absl::StatusOr<const Device*> find_device(std::string_view name) {
  static const CpuDevice cpu;
  static const NullDevice null;
  if (name == "cpu") return &cpu;
  if (name == "null") return &null;
  return absl::NotFoundError(str_cat("device '", name, "' is unknown; this build has: cpu, null"));
}

}  // namespace hearth::runtime
