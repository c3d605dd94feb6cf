#include "daemon/listener.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "proto/socket_path.h"

namespace hearth::daemon {
namespace {

constexpr std::chrono::milliseconds kLockRetry{10};
constexpr std::chrono::milliseconds kAcceptPause{50};

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());  // check_socket_path saw to its length
  return address;
}

// The pid a lock's holder wrote, for messages only.
std::string holder_of(int lock) {
  char text[32] = {};
  const ssize_t size = ::pread(lock, text, sizeof(text) - 1, 0);
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : std::string("?");
}

absl::Status take_lock(const std::string& path, int lock, std::chrono::milliseconds patience) {
  const auto give_up = std::chrono::steady_clock::now() + patience;
  for (;;) {
    if (::flock(lock, LOCK_EX | LOCK_NB) == 0) return absl::OkStatus();
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return absl::UnavailableError(absl::StrCat("cannot lock '", path, ".lock': ", std::strerror(errno)));
    }
    if (is_served(path)) {
      return absl::AlreadyExistsError(absl::StrCat("a daemon (pid ", holder_of(lock), ") already serves '", path, "'"));
    }
    if (std::chrono::steady_clock::now() >= give_up) {
      return absl::AlreadyExistsError(absl::StrCat("another daemon (pid ", holder_of(lock), ") holds '", path,
                                                   ".lock' but does not serve: end it first"));
    }
    std::this_thread::sleep_for(kLockRetry);
  }
}

bool same_user(int fd) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  if (peer.uid == ::geteuid() || peer.uid == 0) return true;
  spdlog::warn("refused a connection of user {} (pid {})", peer.uid, peer.pid);
  return false;
}

}  // namespace

bool is_served(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  const sockaddr_un address = address_of(path);
  const bool served =
      ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 || errno == EAGAIN;
  ::close(fd);
  return served;
}

absl::StatusOr<std::unique_ptr<Listener>> Listener::open(const std::string& path, std::chrono::milliseconds patience) {
  if (absl::Status status = make_socket_folder(path); !status.ok()) return status;
  std::unique_ptr<Listener> listener(new Listener());
  listener->path_ = path;
  const std::string lock_path = path + ".lock";
  listener->lock_ = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (listener->lock_ < 0) {
    return absl::PermissionDeniedError(absl::StrCat("cannot open '", lock_path, "': ", std::strerror(errno)));
  }
  if (absl::Status status = take_lock(path, listener->lock_, patience); !status.ok()) return status;
  const std::string pid = absl::StrCat(::getpid());
  if (::ftruncate(listener->lock_, 0) != 0 || ::pwrite(listener->lock_, pid.data(), pid.size(), 0) < 0) {
    spdlog::warn("cannot write '{}': {}", lock_path, std::strerror(errno));  // only messages need it
  }
  // With the lock held nobody of ours serves it; a daemon without a lock file (deleted) still might.
  if (is_served(path)) return absl::AlreadyExistsError(absl::StrCat("another program already serves '", path, "'"));
  struct stat info;
  if (::lstat(path.c_str(), &info) == 0) {
    if (!S_ISSOCK(info.st_mode)) {
      return absl::PermissionDeniedError(absl::StrCat("'", path, "' exists and is no socket: remove it"));
    }
    ::unlink(path.c_str());
  }
  listener->socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  listener->stop_event_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  const sockaddr_un address = address_of(path);
  // A socket's mode at bind is its descriptor's: 0600 from the first moment, without touching the process's umask.
  if (listener->socket_ < 0 || listener->stop_event_ < 0 || ::fchmod(listener->socket_, 0600) != 0 ||
      ::bind(listener->socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::chmod(path.c_str(), 0600) != 0 || ::listen(listener->socket_, SOMAXCONN) != 0) {
    return absl::UnavailableError(absl::StrCat("cannot listen on '", path, "': ", std::strerror(errno)));
  }
  if (::lstat(path.c_str(), &info) == 0) {
    listener->device_ = info.st_dev;
    listener->inode_ = info.st_ino;
  }
  return listener;
}

Listener::~Listener() {
  for (int fd : {socket_, stop_event_, lock_}) {
    if (fd >= 0) ::close(fd);
  }
}

void Listener::accept_until_stopped(const std::function<void(int)>& on_connection) {
  for (;;) {
    pollfd entries[2] = {{socket_, POLLIN, 0}, {stop_event_, POLLIN, 0}};
    if (::poll(entries, 2, -1) < 0 && errno != EINTR) return;
    if (entries[1].revents != 0) return;
    const int fd = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
      // Out of descriptors: the connection stays in the backlog until some are closed.
      if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) std::this_thread::sleep_for(kAcceptPause);
      continue;
    }
    same_user(fd) ? on_connection(fd) : static_cast<void>(::close(fd));
  }
}

bool Listener::is_reachable() const {
  struct stat info;
  return ::lstat(path_.c_str(), &info) == 0 && info.st_dev == device_ && info.st_ino == inode_;
}

void Listener::stop() {
  if (is_reachable()) ::unlink(path_.c_str());
  ::eventfd_write(stop_event_, 1);
}

}  // namespace hearth::daemon
