// Loads ELF artifacts into this process. A file is opened without following links, must belong to this user (or root)
// and be writable by nobody else; its digest is checked over the bytes of the same descriptor that is then mapped.
// Bytes go through a sealed memfd. An artifact is loaded once a process while anybody holds it. Thread-safe.
// Errors: PermissionDenied, DataLoss (wrong digest), NotFound (no file), FailedPrecondition (the loader's message).
//
//   absl::StatusOr<std::shared_ptr<const CpuArtifact>> artifact = load_cpu_artifact({digest, path, ""});
#pragma once
#include <memory>

#include "absl/status/statusor.h"
#include "runtime/device.h"

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
