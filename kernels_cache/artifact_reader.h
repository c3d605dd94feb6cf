// ArtifactReader: an open CAS file whose bytes were checked, read piece by piece. It keeps the file from eviction.
//
// Movable; belongs to one thread at a time. Errors: DATA_LOSS when the file no longer has the bytes it had. Example:
//   absl::StatusOr<ArtifactReader> file = cache->open_artifact(digest);
//   absl::StatusOr<std::string> first = file->read(0, 1 << 20);
#pragma once
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "kernels_cache/pin_table.h"

namespace hearth::cache {

class ArtifactReader {
 public:
  // Takes `fd`.
  ArtifactReader(int fd, std::uint64_t size_bytes, Pin pin) : fd_(fd), size_bytes_(size_bytes), pin_(std::move(pin)) {}
  ~ArtifactReader();
  ArtifactReader(ArtifactReader&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), size_bytes_(other.size_bytes_), pin_(std::move(other.pin_)) {}
  ArtifactReader& operator=(ArtifactReader&&) = delete;

  std::uint64_t size_bytes() const { return size_bytes_; }
  // Up to `max_bytes`, fewer only at the end.
  absl::StatusOr<std::string> read(std::uint64_t offset, std::uint64_t max_bytes) const;

 private:
  int fd_;
  std::uint64_t size_bytes_;
  Pin pin_;
};

}  // namespace hearth::cache
