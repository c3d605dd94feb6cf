// Listener: the daemon's unix socket: one daemon a path, owner only.
//
// open() creates the folder (0700), takes an exclusive lock beside the socket (the kernel frees it on death), replaces
// a dead daemon's socket and binds with mode 0600. accept_until_stopped() gives every connection of this user (or root,
// by SO_PEERCRED) to `on_connection`, which owns the descriptor, and closes others. The destructor frees the lock.
// Thread-safe: stop() from any thread. Errors: ALREADY_EXISTS when a live daemon serves the path; INVALID_ARGUMENT,
// PERMISSION_DENIED, NOT_FOUND as in proto/socket_path.h. Example:
//   auto listener = Listener::open(path);
//   std::thread thread([&] { (*listener)->accept_until_stopped([&](int fd) { serve(fd); }); });
#pragma once
#include <absl/status/statusor.h>

#include <sys/types.h>
#include <chrono>
#include <functional>

#include <memory>
#include <string>

namespace hearth::daemon {

class Listener {
 public:
  // Waits up to `patience` for a daemon that holds the lock but does not serve: it is starting or leaving.
  static absl::StatusOr<std::unique_ptr<Listener>> open(const std::string& path, std::chrono::milliseconds patience);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  void accept_until_stopped(const std::function<void(int)>& on_connection);
  // No connection is accepted from now on, and the socket's file is gone so that clients start another daemon, which
  // waits for this one's lock. A file that another daemon put in its place stays.
  void stop();
  // Whether clients that open path() still reach this listener: false once the file was removed or replaced.
  bool is_reachable() const;

  const std::string& path() const { return path_; }

 private:
  Listener() = default;

  std::string path_;
  int lock_ = -1;
  int socket_ = -1;
  int stop_event_ = -1;
  dev_t device_ = 0;  // of the socket's file
  ino_t inode_ = 0;
};

// True when somebody accepts connections at `path`.
bool is_served(const std::string& path);

}  // namespace hearth::daemon
