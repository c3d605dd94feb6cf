// Loads ELF artifacts into this process. A file is opened without following links and must belong to this user (or
// root) and be writable by nobody else. What is loaded is a sealed copy in memory of the bytes whose digest was
// checked: a file that is changed or cut short later, by whoever may write it, changes nothing here. (Where the system
// forbids programs in memory, the file itself is loaded.) An artifact is loaded once per process while anybody holds
// it. Thread-safe. Errors: PermissionDenied, DataLoss (wrong digest), NotFound (no file), FailedPrecondition (the
// loader's message).
//
//   absl::StatusOr<std::shared_ptr<const CpuArtifact>> artifact = load_cpu_artifact({digest, path, ""});
#pragma once
#include <memory>

#include "absl/status/statusor.h"
#include "runtime/hal/device.h"

namespace hearth::runtime {

class CpuArtifact {
 public:
  explicit CpuArtifact(void* handle) : handle_(handle) {}
  ~CpuArtifact();
  CpuArtifact(const CpuArtifact&) = delete;
  CpuArtifact& operator=(const CpuArtifact&) = delete;
  void* symbol(const char* name) const;  // null when there is none

 private:
  void* handle_;
};

absl::StatusOr<std::shared_ptr<const CpuArtifact>> load_cpu_artifact(const ArtifactSource& source);

}  // namespace hearth::runtime
