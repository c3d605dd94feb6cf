#include "compiler/blobs/file_stamp.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/sha256.h"
#include "runtime/text.h"

namespace hearth::blobs {
namespace {

constexpr std::uint64_t kMapBytes = 64 << 10;  // smaller files are read: two calls, no page faults

std::int64_t nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000LL + time.tv_nsec; }

absl::StatusOr<std::string> digest_of_open(int fd, const std::string& path) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return absl::ErrnoToStatus(errno, str_cat(path, ": cannot be read"));
  if (!S_ISREG(info.st_mode)) return absl::InvalidArgumentError(str_cat(path, ": is not a regular file"));
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (size > kMapBytes) {
    void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) return absl::ErrnoToStatus(errno, str_cat(path, ": cannot be read"));
    const std::string digest = to_hex(sha256({static_cast<const char*>(data), size}));
    ::munmap(data, size);
    return digest;
  }
  std::string bytes(size, '\0');
  std::uint64_t have = 0;
  while (have < size) {
    const ssize_t got = ::read(fd, bytes.data() + have, size - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::ErrnoToStatus(errno, str_cat(path, ": cannot be read"));
    if (got == 0) break;
    have += static_cast<std::uint64_t>(got);
  }
  bytes.resize(have);
  return to_hex(sha256(bytes));
}

}  // namespace

std::optional<FileStamp> stamp_of(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  return FileStamp{static_cast<std::uint64_t>(info.st_size), nanoseconds(info.st_mtim), nanoseconds(info.st_ctim),
                   info.st_ino};
}

absl::StatusOr<std::string> digest_of_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return absl::ErrnoToStatus(errno, str_cat(path, ": cannot open"));
  auto digest = digest_of_open(fd, path);
  ::close(fd);
  return digest;
}

}  // namespace hearth::blobs
