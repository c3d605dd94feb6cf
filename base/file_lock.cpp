#include "base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace hearth::runtime {
namespace {

constexpr std::size_t kMaxTextBytes = 64;

// False once the file was removed or replaced: others would lock another one.
bool is_at(int fd, const std::string& path) {
  struct stat mine{}, there{};
  return ::fstat(fd, &mine) == 0 && ::lstat(path.c_str(), &there) == 0 && mine.st_dev == there.st_dev &&
         mine.st_ino == there.st_ino;
}

}  // namespace

absl::StatusOr<std::optional<FileLock>> FileLock::try_acquire(const std::string& path) {
  for (;;) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return absl::PermissionDeniedError("cannot open lock file " + path + ": " + std::strerror(errno));
    // In a folder that others write too, somebody may have put a file there first, and hold it.
    struct stat info{};
    if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || (info.st_uid != ::geteuid() && info.st_uid != 0)) {
      ::close(fd);
      return absl::PermissionDeniedError("lock file " + path + " is no file of yours (user " +
                                         std::to_string(info.st_uid) +
                                         "): choose a folder that only you can write, with --socket or HEARTH_SOCKET");
    }
    const bool locked = ::flock(fd, LOCK_EX | LOCK_NB) == 0;
    const int error = errno;
    if (locked && is_at(fd, path)) return FileLock(path, fd);
    ::close(fd);
    if (!locked && error == EWOULDBLOCK) return std::nullopt;
    if (!locked && error != EINTR) {
      return absl::UnavailableError("cannot lock file " + path + ": " + std::strerror(error));
    }
  }
}

bool FileLock::write_text(const std::string& text) {
  return ::ftruncate(fd_, 0) == 0 && ::pwrite(fd_, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
}

void FileLock::release() {
  if (fd_ < 0) return;
  if (is_at(fd_, path_)) ::unlink(path_.c_str());
  ::close(std::exchange(fd_, -1));
}

std::string read_lock_text(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return {};
  char text[kMaxTextBytes];
  const ssize_t size = ::read(fd, text, sizeof text);
  ::close(fd);
  return std::string(text, size > 0 ? static_cast<std::size_t>(size) : 0);
}

}  // namespace hearth::runtime
