// Whole files. read_file: the whole of a regular file. NOT_FOUND or PERMISSION_DENIED as the system says;
// INVALID_ARGUMENT for a folder or a device; UNAVAILABLE when reading fails half-way. write_file: the parts one after
// the other; the file appears whole or not at all (written beside, then renamed). PERMISSION_DENIED or
// RESOURCE_EXHAUSTED. Messages begin with the path.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hearth::runtime {

absl::StatusOr<std::string> read_file(const std::string& path);
absl::Status write_file(const std::string& path, const std::vector<std::string_view>& parts);

}  // namespace hearth::runtime
