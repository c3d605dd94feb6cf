// DirectoryLock: one daemon per cache directory. The lock is a flock(2) on the directory itself, which the kernel
// releases when the owner dies and which no removed file can undo.
//
// `lock` in the directory holds the owner's pid, for messages and for daemons that lock this file alone. An owner that
// is about to end says so with announce_leaving(); whoever wants the directory then waits in acquire(), and the owner
// sees it with is_wanted(). Movable handle, released when destroyed; not thread-safe. Errors: FAILED_PRECONDITION
// naming the owner; else those of errno_status(). Example:
//   absl::StatusOr<DirectoryLock> lock = DirectoryLock::acquire("/var/cache/hearth", std::chrono::seconds(35));
#pragma once
#include <chrono>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace hearth::cache {

class DirectoryLock {
 public:
  // Waits up to `patience` for an owner that has announced its leave; fails at once when the owner has not.
  static absl::StatusOr<DirectoryLock> acquire(const std::string& dir, std::chrono::milliseconds patience);
  ~DirectoryLock() { release(); }
  DirectoryLock(DirectoryLock&& other) noexcept { swap(other); }
  DirectoryLock& operator=(DirectoryLock&& other) noexcept {
    swap(other);
    return *this;
  }

  void announce_leaving();
  // Whether another process waits in acquire().
  bool is_wanted() const;
  void release();

 private:
  DirectoryLock() = default;
  void swap(DirectoryLock& other) {
    std::swap(dir_, other.dir_);
    std::swap(dir_fd_, other.dir_fd_);
    std::swap(file_fd_, other.file_fd_);
  }

  std::string dir_;
  int dir_fd_ = -1;   // the lock
  int file_fd_ = -1;  // DIR/lock
};

}  // namespace hearth::cache
