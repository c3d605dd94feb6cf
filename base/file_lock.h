// FileLock: a flock(2) on a file that exists only for it. The kernel releases it when the holder dies; release()
// removes the file, and a lock on a file that is no longer at its path counts for nothing, so no litter and no second
// holder.
//
// Movable handle, released when destroyed; not thread-safe. Errors: PERMISSION_DENIED when the file cannot be opened (a
// link is not followed), UNAVAILABLE when it cannot be locked. Example:
//   absl::StatusOr<std::optional<FileLock>> lock = FileLock::try_acquire(path);   // empty: somebody else holds it
#pragma once
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace hearth::runtime {

class FileLock {
 public:
  static absl::StatusOr<std::optional<FileLock>> try_acquire(const std::string& path);
  ~FileLock() { release(); }
  FileLock(FileLock&& other) noexcept : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}
  FileLock& operator=(FileLock&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(fd_, other.fd_);
    return *this;
  }

  // For those who find the file locked, e.g. the holder's pid; they read it with read_lock_text().
  bool write_text(const std::string& text);
  void release();

 private:
  FileLock(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  int fd_ = -1;
};

// What the holder wrote; empty when there is none or nothing.
std::string read_lock_text(const std::string& path);

}  // namespace hearth::runtime
