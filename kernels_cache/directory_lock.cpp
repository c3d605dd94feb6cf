#include "kernels_cache/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "kernels_cache/file_system.h"

namespace hearth::cache {
namespace {

constexpr std::chrono::milliseconds kRetryEvery{10};
constexpr char kLeaving[] = "leaving";

// True when `fd` is locked now, false when another process holds it.
absl::StatusOr<bool> try_lock(int fd) {
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return false;
    if (errno != EINTR) return errno_status(errno, "flock");
  }
  return true;
}

absl::StatusOr<int> open_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return errno_status(errno, absl::StrCat("open lock file ", path));
  return fd;
}

bool write_text(int fd, const std::string& text) {
  return ::pwrite(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
}

// What the owner wrote into DIR/lock: its pid, and "leaving" once it has announced that.
struct Owner {
  std::string pid;
  bool leaving = false;
};

Owner read_owner(int fd) {
  char text[64] = {};
  const ssize_t size = ::pread(fd, text, sizeof text - 1, 0);
  const std::vector<std::string> words = absl::StrSplit(
      std::string(text, size > 0 ? static_cast<std::size_t>(size) : 0), absl::ByAnyChar(" \n"), absl::SkipEmpty());
  return {words.empty() ? std::string() : words[0], words.size() > 1 && words[1] == kLeaving};
}

absl::Status in_use(const std::string& dir, const Owner& owner) {
  return absl::FailedPreconditionError(
      absl::StrCat("cache directory ", dir, " is in use by ",
                   owner.pid.empty() ? std::string("another process") : absl::StrCat("process ", owner.pid),
                   "; stop that daemon or choose another cache directory"));
}

}  // namespace

absl::StatusOr<DirectoryLock> DirectoryLock::acquire(const std::string& dir, std::chrono::milliseconds patience) {
  const auto give_up = std::chrono::steady_clock::now() + patience;
  DirectoryLock lock;
  lock.dir_ = dir;
  lock.dir_fd_ = ::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock.dir_fd_ < 0) return errno_status(errno, absl::StrCat("open ", dir));
  HEARTH_ASSIGN_OR_RETURN(int file, open_file(dir + "/lock"));
  lock.file_fd_ = file;
  int wanted = -1;  // DIR/lock.wanted, locked while this process waits
  absl::Status status;
  for (;;) {
    absl::StatusOr<bool> locked = try_lock(lock.dir_fd_);
    if (locked.ok() && *locked) locked = try_lock(lock.file_fd_);
    status = locked.status();
    if (!locked.ok() || *locked) break;
    ::flock(lock.dir_fd_, LOCK_UN);
    const Owner owner = read_owner(lock.file_fd_);
    if (!owner.leaving || std::chrono::steady_clock::now() >= give_up) {
      status = in_use(dir, owner);
      break;
    }
    if (wanted < 0) wanted = open_file(dir + "/lock.wanted").value_or(-1);
    if (wanted >= 0) try_lock(wanted).IgnoreError();
    std::this_thread::sleep_for(kRetryEvery);
  }
  if (wanted >= 0) ::close(wanted);
  if (!status.ok()) return status;
  if (::ftruncate(lock.file_fd_, 0) != 0 || !write_text(lock.file_fd_, absl::StrCat(::getpid(), "\n"))) {
    return errno_status(errno, absl::StrCat("write lock file ", dir, "/lock"));
  }
  return lock;
}

void DirectoryLock::announce_leaving() {
  if (file_fd_ < 0) return;
  // One write over a shorter text: a reader sees the old text or the new one.
  // A failed write costs the successor its patience: it then reports this process as the owner.
  static_cast<void>(write_text(file_fd_, absl::StrCat(::getpid(), " ", kLeaving, "\n")));
}

bool DirectoryLock::is_wanted() const {
  if (dir_fd_ < 0) return false;
  const int fd = ::open((dir_ + "/lock.wanted").c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return false;
  const bool wanted = !try_lock(fd).value_or(true);
  ::close(fd);
  return wanted;
}

void DirectoryLock::release() {
  for (int* fd : {&file_fd_, &dir_fd_}) {
    if (*fd >= 0) ::close(*fd);
    *fd = -1;
  }
}

}  // namespace hearth::cache
