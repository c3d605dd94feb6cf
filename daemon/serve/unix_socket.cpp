#include "daemon/serve/unix_socket.h"

#include <absl/strings/str_cat.h>
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

absl::StatusOr<UnixSocket> UnixSocket::open(const std::string& path, int type) {
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
  // A socket's mode at bind is its descriptor's: 0600 from the first moment, without touching the process's umask.
  if (socket.fd_ < 0 || ::fchmod(socket.fd_, 0600) != 0 ||
      ::bind(socket.fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::chmod(path.c_str(), 0600) != 0 || ::listen(socket.fd_, SOMAXCONN) != 0) {
    return absl::UnavailableError(absl::StrCat("cannot listen on '", path, "': ", std::strerror(errno)));
  }
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
  if (is_reachable()) ::unlink(path_.c_str());
  if (!link_.empty() && is_at(link_)) ::unlink(link_.c_str());
}

absl::Status UnixSocket::link_to(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string(), fresh = path + ".new";
  const auto failed = [&] { return absl::UnavailableError(absl::StrCat("'", path, "': ", std::strerror(errno))); };
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return failed();
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

bool is_trusted(const Peer& peer) {
  if (peer.uid == ::geteuid() || peer.uid == 0) return true;
  static LogLimit refused;
  if (const auto times = refused.count(peer.uid))
    spdlog::warn("refused a connection of user {} (pid {}; {} times in the last minute)", peer.uid, peer.pid, *times);
  return false;
}

}  // namespace hearth::daemon
