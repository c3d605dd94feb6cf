#include "runtime/devices/devices.h"

#include "absl/strings/str_join.h"
#include "base/registry.h"
#include "base/text.h"
#include "runtime/hal/cpu/cpu_driver.h"
#include "runtime/hal/cuda/cuda_driver.h"
#include "runtime/hal/hip/hip_driver.h"
#include "runtime/hal/null/null_driver.h"
#include "runtime/hal/vulkan/vulkan_driver.h"

namespace hearth::runtime {
namespace {

Registry<Driver>& registry() {
  static Registry<Driver>& all = *new Registry<Driver>{{"cpu", &cpu_driver()},
                                                       {"null", &null_driver()},
                                                       {"vulkan", &vulkan_driver()},
                                                       {"cuda", &cuda_driver()},
                                                       {"hip", &hip_driver()}};
  return all;
}

}  // namespace

std::vector<const Driver*> drivers() {
  std::vector<const Driver*> all;
  for (const auto& [name, driver] : registry().all()) all.push_back(driver);
  return all;
}

const Driver* find_driver(std::string_view device) { return registry().find(device.substr(0, device.find(':'))); }

bool is_device_name(std::string_view name) {
  const Driver* const driver = find_driver(name);
  if (driver == nullptr) return false;
  const std::size_t colon = name.find(':');
  return colon == std::string_view::npos || (colon + 1 < name.size() && driver->forms().size() > 1);
}

absl::StatusOr<const Device*> find_device(std::string_view name) {
  if (!is_device_name(name)) {
    const auto add_name = [](std::string* text, const Driver* one) { text->append(one->name()); };
    return absl::NotFoundError(
        str_cat("device '", name, "' is unknown; this build has: ", absl::StrJoin(drivers(), ", ", add_name)));
  }
  const std::size_t colon = name.find(':');
  return find_driver(name)->find(colon == std::string_view::npos ? std::string_view() : name.substr(colon + 1));
}

bool runs_on_host(std::string_view device) {
  const Driver* const driver = find_driver(device);
  return driver != nullptr && driver->runs_on_host();
}

void register_driver(const Driver& driver) { registry().add(driver.name(), driver); }

}  // namespace hearth::runtime
