#include "kernels_cache/file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace hearth::cache {
namespace {

std::int64_t nanoseconds(const timespec& time) { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

FileId file_id(const struct stat& info) {
  return {info.st_dev, info.st_ino, static_cast<std::uint64_t>(info.st_size), nanoseconds(info.st_mtim),
          nanoseconds(info.st_ctim)};
}

class PosixFileSystem final : public FileSystem {
 public:
  absl::Status make_dir(const std::string& path, unsigned mode) override {
    if (::mkdir(path.c_str(), mode) == 0) return absl::OkStatus();
    int error = errno;
    struct stat info{};
    if (error == EEXIST && ::stat(path.c_str(), &info) == 0) {
      if (S_ISDIR(info.st_mode)) return absl::OkStatus();
      error = ENOTDIR;
    }
    return errno_status(error, absl::StrCat("create directory ", path));
  }

  absl::StatusOr<int> create(const std::string& path, unsigned mode) override {
    int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0) return errno_status(errno, absl::StrCat("create ", path));
    return fd;
  }

  absl::Status write_all(int fd, std::string_view bytes) override {
    while (!bytes.empty()) {
      ssize_t written = ::write(fd, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return errno_status(errno, "write");
      if (written == 0) return errno_status(EIO, "write");
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return absl::OkStatus();
  }

  absl::Status sync(int fd) override { return ::fsync(fd) == 0 ? absl::OkStatus() : errno_status(errno, "fsync"); }

  absl::Status close_file(int fd) override {
    return ::close(fd) == 0 ? absl::OkStatus() : errno_status(errno, "close");
  }

  absl::Status rename_file(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) == 0) return absl::OkStatus();
    return errno_status(errno, absl::StrCat("rename ", from, " to ", to));
  }

  absl::Status sync_dir(const std::string& path) override {
    int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return errno_status(errno, absl::StrCat("open directory ", path));
    int error = ::fsync(fd) == 0 ? 0 : errno;
    ::close(fd);
    return error == 0 ? absl::OkStatus() : errno_status(error, absl::StrCat("fsync directory ", path));
  }

  absl::Status remove_file(const std::string& path) override {
    if (::unlink(path.c_str()) == 0) return absl::OkStatus();
    return errno_status(errno, absl::StrCat("remove ", path));
  }

  absl::StatusOr<std::string> read_file(const std::string& path) override {
    int fd = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return errno_status(errno, absl::StrCat("open ", path));
    std::string bytes;
    int error = read_descriptor(fd, bytes);
    ::close(fd);
    if (error != 0) return errno_status(error, absl::StrCat("read ", path));
    return bytes;
  }

  absl::StatusOr<FileId> identify(const std::string& path) override {
    struct stat info{};
    if (::lstat(path.c_str(), &info) != 0) return errno_status(errno, path);
    if (!S_ISREG(info.st_mode)) return absl::FailedPreconditionError(absl::StrCat(path, ": not a regular file"));
    return file_id(info);
  }

  absl::StatusOr<std::vector<std::string>> list_dir(const std::string& path) override {
    DIR* dir = ::opendir(path.c_str());
    if (dir == nullptr) return errno_status(errno, absl::StrCat("list ", path));
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(dir)) {
      std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(std::move(name));
    }
    ::closedir(dir);
    std::sort(names.begin(), names.end());
    return names;
  }

  absl::StatusOr<std::uint64_t> type_magic(const std::string& path) override {
    struct statfs info{};
    if (::statfs(path.c_str(), &info) != 0) return errno_status(errno, absl::StrCat("statfs ", path));
    return static_cast<std::uint64_t>(info.f_type) & 0xffffffffu;
  }

 private:
  static int read_descriptor(int fd, std::string& bytes) {
    struct stat info{};
    if (::fstat(fd, &info) != 0) return errno;
    if (!S_ISREG(info.st_mode)) return EINVAL;
    bytes.resize(static_cast<std::size_t>(info.st_size));
    std::size_t filled = 0;
    while (filled < bytes.size()) {
      ssize_t got = ::read(fd, bytes.data() + filled, bytes.size() - filled);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return errno;
      if (got == 0) break;
      filled += static_cast<std::size_t>(got);
    }
    bytes.resize(filled);
    return 0;
  }
};

}  // namespace

FileSystem& posix_file_system() {
  static auto* file_system = new PosixFileSystem;
  return *file_system;
}

absl::Status errno_status(int error, std::string_view what) {
  std::string message = absl::StrCat(std::string(what), ": ", std::generic_category().message(error));
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return absl::ResourceExhaustedError(message);
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(message);
    case ENOENT:
      return absl::NotFoundError(message);
    case EEXIST:
      return absl::AlreadyExistsError(message);
    case ENOTDIR:
    case ELOOP:
    case EINVAL:
    case ENAMETOOLONG:
      return absl::FailedPreconditionError(message);
    default:
      return absl::UnavailableError(message);
  }
}

std::string_view network_file_system_name(std::uint64_t magic) {
  switch (magic) {
    case 0x6969:
      return "nfs";
    case 0xff534d42:
      return "cifs";
    case 0xfe534d42:
      return "smb2";
    case 0x517b:
      return "smb";
    case 0x00c36400:
      return "ceph";
    case 0x0bd00bd0:
      return "lustre";
    case 0x47504653:
      return "gpfs";
    case 0x5346414f:
      return "afs";
    case 0x01021997:
      return "9p";
    case 0x013111a8:
      return "ibrix";
    case 0x73757245:
      return "coda";
    case 0x7461636f:
      return "ocfs2";
    case 0x01161970:
      return "gfs2";
    case 0x19830326:
      return "beegfs";
    default:
      return {};
  }
}

}  // namespace hearth::cache
