// ISA bitcode: the small device libraries, one a GPU arch, that say to AMD's device code which arch it is compiled for.
//
// Debian's rocm-device-libs has none for archs newer than itself (gfx942, gfx1100 …), although its other libraries
// serve them. device_library() makes a folder that has Debian's files (as links) and, for each arch the compiler knows
// beyond those, one compiled from a line of LLVM IR. Made once, published with one rename, so that racing processes
// all find the whole. Blocking; thread-safe. Errors: NotFound (no device libraries: the package), PermissionDenied,
// Internal with the compiler's words. Example:
//   absl::StatusOr<DeviceLibrary> library = device_library("/usr/bin/clang++-19", {"gfx942"}, installed, folder);
#pragma once
#include <absl/status/statusor.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::blobs {

struct DeviceLibrary {
  std::string folder;              // for --rocm-device-lib-path
  std::vector<std::string> files;  // all of its bitcode, absolute, sorted
};

// `archs`: those that the compiler knows. `installed`: the package's folder. `keep`: where to make it; made if missing.
absl::StatusOr<DeviceLibrary> device_library(const std::string& clang, const std::vector<std::string>& archs,
                                             const std::string& installed, const std::string& keep);

// The number that device code sees: 9402 for "gfx942", 9010 for "gfx90a", 11000 for "gfx1100". Nothing for other names
// ("gfx9-generic").
std::optional<int> isa_version(std::string_view arch);

}  // namespace hearth::blobs
