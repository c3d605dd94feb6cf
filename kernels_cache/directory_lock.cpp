#include "kernels_cache/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "kernels_cache/file_system.h"

namespace hearth::cache {
namespace {

absl::Status owned_by_other(int fd, const std::string& path) {
  char text[32] = {};
  ssize_t got = ::pread(fd, text, sizeof text - 1, 0);
  std::string pid(text, got > 0 ? static_cast<std::size_t>(got) : 0);
  absl::StripAsciiWhitespace(&pid);
  std::string owner = pid.empty() ? "another process" : absl::StrCat("process ", pid);
  return absl::FailedPreconditionError(absl::StrCat("cache directory ", path.substr(0, path.rfind('/')),
                                                    " is in use by ", owner,
                                                    "; stop that daemon or choose another cache directory"));
}

}  // namespace

absl::StatusOr<DirectoryLock> DirectoryLock::acquire(const std::string& path) {
  int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return errno_status(errno, absl::StrCat("open lock file ", path));
  DirectoryLock lock(fd);
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) return owned_by_other(fd, path);
    return errno_status(errno, absl::StrCat("lock ", path));
  }
  std::string pid = absl::StrCat(::getpid(), "\n");
  if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    return errno_status(errno, absl::StrCat("write lock file ", path));
  }
  return lock;
}

DirectoryLock::~DirectoryLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace hearth::cache
