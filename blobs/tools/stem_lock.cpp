#include "blobs/tools/stem_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "base/text.h"

namespace hearth::blobs {

absl::StatusOr<StemLock> StemLock::take(const std::string& folder, const std::string& stem,
                                        std::chrono::milliseconds longest_wait) {
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
  // Asked for again and again: a wait for a lock has no end of its own, and who holds it may be stopped.
  const auto deadline = std::chrono::steady_clock::now() + longest_wait;
  for (auto pause = std::chrono::milliseconds(1); ::flock(fd, LOCK_EX | LOCK_NB) != 0;
       pause = std::min(2 * pause, std::chrono::milliseconds(20))) {
    if (errno != EINTR && errno != EWOULDBLOCK)
      return absl::ErrnoToStatus(errno, str_cat(lock.path_, ": cannot be locked"));
    if (std::chrono::steady_clock::now() >= deadline)
      return absl::DeadlineExceededError(str_cat(lock.path_,
                                                 ": another process has held it for too long; find it with "
                                                 "fuser, or remove the file"));
    std::this_thread::sleep_for(pause);
  }
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
