// The bytes of an artifact, from a file of the daemon's cache or from memory, once they are what their digest says and
// nobody else can change the file. Thread-safe. Errors: DATA_LOSS for other bytes, NOT_FOUND, PERMISSION_DENIED for a
// file of another user.
//
//   absl::StatusOr<ArtifactBytes> code = read_artifact(source);
#pragma once
#include <string>

#include "base/unique_fd.h"
#include "runtime/hal/device.h"

namespace hearth::runtime {

struct ArtifactBytes {
  std::string bytes;
  UniqueFd file;      // where they came from; none: from memory
  std::string shown;  // for messages
};

absl::StatusOr<ArtifactBytes> read_artifact(const ArtifactSource& source);

// By kernel of the plan. NOT_FOUND names a kernel without one.
absl::StatusOr<std::vector<const ArtifactSource*>> sources_of(const Plan& plan,
                                                              const std::vector<ArtifactSource>& artifacts);

}  // namespace hearth::runtime
