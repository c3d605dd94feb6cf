// SocketLock: one daemon per socket path: a flock(2) on `PATH.lock`, which the kernel releases when the holder dies.
//
// The file holds the holder's pid for messages and is removed by release(); a lock on a file that is no longer at its
// path counts for nothing and is taken anew. Movable handle, released when destroyed; not thread-safe. Errors:
// ALREADY_EXISTS naming the holder; PERMISSION_DENIED or UNAVAILABLE when the file cannot be opened or locked. Example:
//   auto lock = SocketLock::acquire("/run/user/1000/hearth/hearthd.sock", std::chrono::seconds(10));
#pragma once
#include <absl/status/statusor.h>

#include <chrono>
#include <string>
#include <utility>

namespace hearth::daemon {

class SocketLock {
 public:
  // Waits up to `patience` for a holder that does not serve the socket: it is starting or ending.
  static absl::StatusOr<SocketLock> acquire(const std::string& socket_path, std::chrono::milliseconds patience);
  ~SocketLock() { release(); }
  SocketLock(SocketLock&& other) noexcept { swap(other); }
  SocketLock& operator=(SocketLock&& other) noexcept {
    swap(other);
    return *this;
  }

  void release();

 private:
  SocketLock() = default;
  void swap(SocketLock& other) {
    std::swap(path_, other.path_);
    std::swap(fd_, other.fd_);
  }

  std::string path_;
  int fd_ = -1;
};

}  // namespace hearth::daemon
