#include "compiler/blobs/stem_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/text.h"

namespace hearth::blobs {

absl::StatusOr<StemLock> StemLock::take(const std::string& folder, const std::string& stem) {
  std::string path = str_cat(folder, "/", stem, ".lock");
  // O_NOFOLLOW: nobody may make this process write to a file of their choice.
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) {
    const int why = errno;
    if (why == EACCES || why == EROFS || why == EPERM)
      return absl::PermissionDeniedError(str_cat(folder,
                                                 ": cannot be written; give it to this user, or set "
                                                 "CK_JIT_CACHE_DIR to a folder that can be"));
    return absl::ErrnoToStatus(why, str_cat(path, ": cannot be made"));
  }
  StemLock lock(std::move(path), fd);
  while (::flock(fd, LOCK_EX) != 0)
    if (errno != EINTR) return absl::ErrnoToStatus(errno, str_cat(lock.path_, ": cannot be locked"));
  struct stat mine{}, there{};
  lock.ours_ = ::fstat(fd, &mine) == 0 && ::stat(lock.path_.c_str(), &there) == 0 && mine.st_ino == there.st_ino &&
               mine.st_dev == there.st_dev;
  char bytes[4096];
  off_t at = 0;
  for (ssize_t got; !lock.ours_ && (got = ::pread(fd, bytes, sizeof bytes, at)) > 0; at += got)
    lock.words_.append(bytes, static_cast<std::size_t>(got));
  return lock;
}

void StemLock::leave(const std::string& words) {
  off_t at = 0;
  while (at < static_cast<off_t>(words.size())) {
    const ssize_t put = ::pwrite(fd_, words.data() + at, words.size() - static_cast<std::size_t>(at), at);
    if (put <= 0) break;  // they try themselves then
    at += put;
  }
}

StemLock::~StemLock() {
  if (fd_ < 0) return;
  if (ours_) ::unlink(path_.c_str());
  ::close(fd_);
}

}  // namespace hearth::blobs
