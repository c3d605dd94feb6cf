// UnixSocket: a listening unix socket that only its owner, or everybody, may connect to, bound to a path of the file
// system.
//
// Owns its descriptor; the destructor closes it and leaves the file, remove() removes the file if it is still this
// socket's. Thread-safe after open(), but for close(). Errors: PERMISSION_DENIED when something else than a socket is
// at the path, UNAVAILABLE when the system refuses. Example:
//   auto socket = UnixSocket::open(path);
//   const int connection = ::accept4(socket->fd(), nullptr, nullptr, SOCK_CLOEXEC);
#pragma once
#include <absl/status/statusor.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <string>
#include <utility>

namespace hearth::daemon {

// Who connected, as the kernel says.
struct Peer {
  pid_t pid = 0;
  uid_t uid = static_cast<uid_t>(-1);
};

class UnixSocket {
 public:
  // Replaces a socket that nobody serves; the caller knows that nobody does. `for_all`: mode 0666, else 0600.
  static absl::StatusOr<UnixSocket> open(const std::string& path, int type = SOCK_STREAM, bool for_all = false);
  // One that a service manager listens on, and goes on to when this process ends: remove() leaves its file.
  static absl::StatusOr<UnixSocket> adopt(int fd, const std::string& path);
  ~UnixSocket();
  UnixSocket(UnixSocket&& other) noexcept { swap(other); }
  UnixSocket& operator=(UnixSocket&& other) noexcept {
    swap(other);
    return *this;
  }

  int fd() const { return fd_; }
  // Whether clients that open path() still reach this socket: false once its file was removed or replaced.
  bool is_reachable() const { return is_at(path_); }
  void remove();
  // Gives the socket a second name, in place of what has it, in a folder of mode 0700 (`for_all`: 0755) that is made if
  // need be; remove() takes it away if it is still this socket's. Errors: UNAVAILABLE naming the path (some file systems
  // have no links).
  absl::Status link_to(const std::string& path, bool for_all = false);
  // Refuses those that wait to be accepted.
  void close();

 private:
  UnixSocket() = default;
  bool is_at(const std::string& path) const;
  void swap(UnixSocket& other) {
    std::swap(path_, other.path_);
    std::swap(link_, other.link_);
    std::swap(fd_, other.fd_);
    std::swap(device_, other.device_);
    std::swap(inode_, other.inode_);
    std::swap(is_adopted_, other.is_adopted_);
  }

  std::string path_;
  std::string link_;  // the second name, if there is one
  int fd_ = -1;
  dev_t device_ = 0;  // of the socket's file
  ino_t inode_ = 0;
  bool is_adopted_ = false;
};

// True when somebody accepts connections at `path`.
bool is_served(const std::string& path);

// The peer of a connected unix socket; the uid is -1 when the kernel does not tell.
Peer peer_of(int fd);
// Whether the peer is this user or root.
bool is_trusted(const Peer& peer);
// Tells a peer that is refused why, in a line that clients of Hearth know ("hearth: …"), and the log, a line a user and
// minute. The caller closes `fd`.
void refuse_peer(int fd, const Peer& peer, const std::string& why);

}  // namespace hearth::daemon
