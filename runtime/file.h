// read_file: the whole of a regular file. NOT_FOUND or PERMISSION_DENIED as the system says; INVALID_ARGUMENT for a
// folder or a device; UNAVAILABLE when reading fails half-way. Messages begin with the path.
#pragma once
#include <string>

#include "absl/status/statusor.h"

namespace hearth::runtime {

absl::StatusOr<std::string> read_file(const std::string& path);

}  // namespace hearth::runtime
