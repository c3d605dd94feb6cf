#include "daemon/sockets/unix_socket.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "daemon/log_limit.h"

namespace hearth::daemon {
namespace {

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());  // check_socket_path saw to its length
  return address;
}

}  // namespace

absl::StatusOr<UnixSocket> UnixSocket::open(const std::string& path, int type, bool for_all) {
  struct stat info;
  if (::lstat(path.c_str(), &info) == 0) {
    if (!S_ISSOCK(info.st_mode)) {
      return absl::PermissionDeniedError(absl::StrCat("'", path, "' exists and is no socket: remove it"));
    }
    ::unlink(path.c_str());
  }
  UnixSocket socket;
  socket.path_ = path;
  socket.fd_ = ::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const sockaddr_un address = address_of(path);
  const mode_t mode = for_all ? 0666 : 0600;
  // A socket's mode at bind is its descriptor's: from the first moment, without touching the process's umask.
  if (socket.fd_ < 0 || ::fchmod(socket.fd_, 0600) != 0 ||
      ::bind(socket.fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::chmod(path.c_str(), mode) != 0 || ::listen(socket.fd_, SOMAXCONN) != 0) {
    return absl::UnavailableError(absl::StrCat("cannot listen on '", path, "': ", std::strerror(errno)));
  }
  if (::lstat(path.c_str(), &info) == 0) {
    socket.device_ = info.st_dev;
    socket.inode_ = info.st_ino;
  }
  return socket;
}

absl::StatusOr<UnixSocket> UnixSocket::adopt(int fd, const std::string& path) {
  sockaddr_un address{};
  socklen_t size = sizeof(address);
  struct stat info;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0 || address.sun_family != AF_UNIX ||
      path != std::string(address.sun_path, ::strnlen(address.sun_path, sizeof(address.sun_path)))) {
    return absl::InvalidArgumentError(
        absl::StrCat("the service manager does not listen on '", path, "': let its ListenStream and `socket` agree"));
  }
  UnixSocket socket;
  socket.path_ = path;
  socket.is_adopted_ = true;
  socket.fd_ = fd;
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  if (::lstat(path.c_str(), &info) == 0) {
    socket.device_ = info.st_dev;
    socket.inode_ = info.st_ino;
  }
  return socket;
}

UnixSocket::~UnixSocket() { close(); }

void UnixSocket::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

bool UnixSocket::is_at(const std::string& path) const {
  struct stat info;
  return ::lstat(path.c_str(), &info) == 0 && info.st_dev == device_ && info.st_ino == inode_;
}

void UnixSocket::remove() {
  if (is_reachable() && !is_adopted_) ::unlink(path_.c_str());
  if (!link_.empty() && is_at(link_)) ::unlink(link_.c_str());
}

absl::Status UnixSocket::link_to(const std::string& path, bool for_all) {
  const std::string folder = std::filesystem::path(path).parent_path().string(), fresh = path + ".new";
  const auto failed = [&] { return absl::UnavailableError(absl::StrCat("'", path, "': ", std::strerror(errno))); };
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return failed();
  if (::chmod(folder.c_str(), for_all ? 0755 : 0700) != 0) return failed();
  ::unlink(fresh.c_str());  // of a daemon that was killed between the two steps below
  if (::link(path_.c_str(), fresh.c_str()) != 0) return failed();
  if (::rename(fresh.c_str(), path.c_str()) != 0) {
    const absl::Status status = failed();
    ::unlink(fresh.c_str());
    return status;
  }
  link_ = path;
  return absl::OkStatus();
}

bool is_served(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  const sockaddr_un address = address_of(path);
  const bool served =
      ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 || errno == EAGAIN;
  ::close(fd);
  return served;
}

Peer peer_of(int fd) {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return {};
  return {credentials.pid, credentials.uid};
}

bool is_trusted(const Peer& peer) { return peer.uid == ::geteuid() || peer.uid == 0; }

void refuse_peer(int fd, const Peer& peer, const std::string& why) {
  static LogLimit refused;
  if (const auto times = refused.count(peer.uid))
    spdlog::warn("refused a connection of user {} (pid {}; {} times in the last minute)", peer.uid, peer.pid, *times);
  const std::string line = absl::StrCat("hearth: ", why, "\n");
  (void)::send(fd, line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace hearth::daemon
