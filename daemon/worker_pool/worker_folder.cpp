#include "daemon/worker_pool/worker_folder.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

namespace hearth::daemon {
namespace {

namespace fs = std::filesystem;

constexpr char kFolderPrefix[] = "hearth-worker-";
constexpr std::size_t kMaxCounted = 100'000;  // a walk of more would keep the daemon from looking after the worker
constexpr std::uint64_t kUncountable = std::numeric_limits<std::uint64_t>::max();
constexpr std::time_t kOldS = 3'600;  // a folder that has no lock yet is being made, unless it is this old

// The lock, held, or -1 with errno. A sweep may be quicker, and remove what was just made.
int take_lock(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return -1;
  struct stat locked{}, named{};
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0 && ::fstat(fd, &locked) == 0 && ::lstat(path.c_str(), &named) == 0 &&
      locked.st_ino == named.st_ino)
    return fd;
  const int error = errno;
  ::close(fd);
  errno = error == 0 ? EAGAIN : error;
  return -1;
}

// A worker may have made folders that cannot be listed.
void remove_tree(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (!error) return;
  std::error_code ignored;
  fs::permissions(path, fs::perms::owner_all, fs::perm_options::add | fs::perm_options::nofollow, ignored);
  fs::directory_iterator it(path, error), end;
  for (; !error && it != end; it.increment(error)) {
    if (it->is_directory(ignored) && !it->is_symlink(ignored)) remove_tree(it->path());
  }
  fs::remove_all(path, ignored);
}

}  // namespace

absl::StatusOr<WorkerFolder> WorkerFolder::create(const std::string& parent) {
  const auto failed = [&parent] {
    return absl::InternalError(
        absl::StrCat("cannot create a temp folder for a compiler worker in '", parent, "': ", std::strerror(errno)));
  };
  constexpr int kAttempts = 3;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::string path = absl::StrCat(parent, "/", kFolderPrefix, "XXXXXX");
    if (::mkdtemp(path.data()) == nullptr) return failed();
    WorkerFolder folder;
    folder.path_ = path;
    folder.files_ = absl::StrCat(path, "/files");
    folder.lock_ = take_lock(absl::StrCat(path, "/lock"), O_CREAT | O_EXCL);
    if (folder.lock_ >= 0 && ::mkdir(folder.files_.c_str(), 0700) == 0) return folder;
  }
  return failed();
}

WorkerFolder::~WorkerFolder() {
  if (mounted_ >= 0) ::close(mounted_);
  if (!path_.empty()) remove_tree(path_);
  if (lock_ >= 0) ::close(lock_);
}

WorkerFolder::WorkerFolder(WorkerFolder&& other) noexcept { *this = std::move(other); }

WorkerFolder& WorkerFolder::operator=(WorkerFolder&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(files_, other.files_);
  std::swap(lock_, other.lock_);
  std::swap(mounted_, other.mounted_);
  return *this;
}

void WorkerFolder::attach(pid_t worker) {
  const std::string seen = absl::StrCat("/proc/", worker, "/root", files_);
  const int fd = ::open(seen.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat inside{}, outside{};
  const bool is_mounted =
      fd >= 0 && ::fstat(fd, &inside) == 0 && ::lstat(files_.c_str(), &outside) == 0 && inside.st_dev != outside.st_dev;
  if (is_mounted) {
    mounted_ = fd;
  } else if (fd >= 0) {
    ::close(fd);
  }
}

std::uint64_t WorkerFolder::used_bytes() const {
  if (is_in_memory()) {
    struct statfs info{};
    if (::fstatfs(mounted_, &info) != 0) return 0;
    return static_cast<std::uint64_t>(info.f_blocks - info.f_bfree) * static_cast<std::uint64_t>(info.f_bsize);
  }
  std::uint64_t bytes = 0;
  std::size_t count = 0;
  std::error_code error;
  fs::recursive_directory_iterator it(files_, error), end;
  for (; !error && it != end; it.increment(error)) {
    struct stat info{};
    constexpr std::uint64_t kBlockBytes = 512;
    if (::lstat(it->path().c_str(), &info) == 0) bytes += static_cast<std::uint64_t>(info.st_blocks) * kBlockBytes;
    if (++count > kMaxCounted) return kUncountable;
  }
  // A folder that cannot be listed hides what is in it. That one vanishes meanwhile is usual.
  return error == std::errc::permission_denied ? kUncountable : bytes;
}

void sweep_worker_folders(const std::string& parent) {
  std::error_code error;
  fs::directory_iterator it(parent, error), end;
  for (; !error && it != end; it.increment(error)) {
    const std::string& path = it->path().native();
    struct stat info{};
    if (!it->path().filename().native().starts_with(kFolderPrefix) || ::lstat(path.c_str(), &info) != 0) continue;
    if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid()) continue;
    const int lock = take_lock(path + "/lock", 0);
    if (lock < 0) {
      if (errno == ENOENT && std::time(nullptr) - info.st_mtime > kOldS) ::rmdir(path.c_str());
      continue;
    }
    remove_tree(path);
    ::close(lock);
  }
}

}  // namespace hearth::daemon
