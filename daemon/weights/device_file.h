// Descriptors by which processes have a GPU's memory together. Stateless; thread-safe.
//
//   absl::StatusOr<std::uint64_t> bytes = host_bytes_of_device_file(file);
#pragma once
#include <cstdint>

#include "absl/status/statusor.h"

namespace hearth::daemon {

// What memory of the host such a descriptor keeps: none of a GPU's driver, the file of a memory file, by which tests
// stand in for one. FAILED_PRECONDITION for any other: to close it might wait for somebody.
absl::StatusOr<std::uint64_t> host_bytes_of_device_file(int file);

}  // namespace hearth::daemon
