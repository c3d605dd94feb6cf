// DirectoryLock: one daemon a cache directory. A flock on `lock`, which the kernel frees when the owner dies.
//
// The file holds the owner's pid for the message a second daemon gives. Movable handle, released when destroyed.
// Errors: FAILED_PRECONDITION naming the owner; else those of errno_status(). Example:
//   absl::StatusOr<DirectoryLock> lock = DirectoryLock::acquire("/var/cache/hearth/lock");
#pragma once
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace hearth::cache {

class DirectoryLock {
 public:
  static absl::StatusOr<DirectoryLock> acquire(const std::string& path);
  ~DirectoryLock();
  DirectoryLock(DirectoryLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  DirectoryLock& operator=(DirectoryLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

 private:
  explicit DirectoryLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace hearth::cache
