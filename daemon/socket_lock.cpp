#include "daemon/socket_lock.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "daemon/unix_socket.h"

namespace hearth::daemon {
namespace {

constexpr std::chrono::milliseconds kRetryEvery{10};

// For messages only.
std::string holder_of(int fd) {
  char text[32] = {};
  const ssize_t size = ::pread(fd, text, sizeof(text) - 1, 0);
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : std::string("?");
}

// False once the file was removed or replaced: others would lock another one.
bool is_at(int fd, const std::string& path) {
  struct stat mine, there;
  return ::fstat(fd, &mine) == 0 && ::lstat(path.c_str(), &there) == 0 && mine.st_dev == there.st_dev &&
         mine.st_ino == there.st_ino;
}

}  // namespace

absl::StatusOr<SocketLock> SocketLock::acquire(const std::string& socket_path, std::chrono::milliseconds patience) {
  const auto give_up = std::chrono::steady_clock::now() + patience;
  SocketLock lock;
  lock.path_ = socket_path + ".lock";
  for (;;) {
    if (lock.fd_ < 0) lock.fd_ = ::open(lock.path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (lock.fd_ < 0) {
      return absl::PermissionDeniedError(absl::StrCat("cannot open '", lock.path_, "': ", std::strerror(errno)));
    }
    const bool locked = ::flock(lock.fd_, LOCK_EX | LOCK_NB) == 0;
    if (!locked && errno != EWOULDBLOCK && errno != EINTR) {
      return absl::UnavailableError(absl::StrCat("cannot lock '", lock.path_, "': ", std::strerror(errno)));
    }
    if (!is_at(lock.fd_, lock.path_)) {
      ::close(std::exchange(lock.fd_, -1));
      continue;
    }
    if (locked) break;
    const std::string holder = holder_of(lock.fd_);
    if (is_served(socket_path)) {
      return absl::AlreadyExistsError(absl::StrCat("a daemon (pid ", holder, ") already serves '", socket_path, "'"));
    }
    if (std::chrono::steady_clock::now() >= give_up) {
      return absl::AlreadyExistsError(absl::StrCat("another daemon (pid ", holder, ") holds '", lock.path_,
                                                   "' but does not serve: end it first"));
    }
    std::this_thread::sleep_for(kRetryEvery);
  }
  const std::string pid = absl::StrCat(::getpid());
  if (::ftruncate(lock.fd_, 0) != 0 || ::pwrite(lock.fd_, pid.data(), pid.size(), 0) < 0) {
    spdlog::warn("cannot write '{}': {}", lock.path_, std::strerror(errno));  // only messages need it
  }
  return lock;
}

void SocketLock::release() {
  if (fd_ < 0) return;
  if (is_at(fd_, path_)) ::unlink(path_.c_str());
  ::close(std::exchange(fd_, -1));
}

}  // namespace hearth::daemon
