// The device that a name means, of those of one driver: by number, by UUID (hexadecimal digits, with or without dashes)
// or by its driver's name for it; without a name, the one that computes fastest of those that can be used.
#pragma once
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/hal/driver.h"

namespace hearth::runtime {

// Its place in `infos`, which may say that it cannot be used where it is named. NOT_FOUND says what there is. `driver`
// and `title`: as Driver has them.
absl::StatusOr<std::size_t> choose_device(const std::vector<DeviceInfo>& infos, std::string_view driver,
                                          std::string_view title, std::string_view which);

}  // namespace hearth::runtime
