#include "runtime/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "runtime/text.h"

namespace hearth::runtime {
namespace {

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

}  // namespace

absl::StatusOr<std::string> read_file(const std::string& path) {
  // Non-blocking: a pipe nobody writes to must not hang the caller before it is refused.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) return absl::ErrnoToStatus(errno, path + ": cannot open");
  struct stat info{};
  if (::fstat(file.fd, &info) != 0) return absl::ErrnoToStatus(errno, path + ": cannot be read");
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        path + (S_ISDIR(info.st_mode) ? ": is a folder, not a file" : ": is not a regular file"));
  }
  std::string content(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t have = 0;
  while (have < content.size()) {
    const ssize_t got = ::read(file.fd, content.data() + have, content.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::UnavailableError(path + ": cannot be read: " + std::strerror(errno));
    if (got == 0) break;  // it shrank meanwhile
    have += static_cast<std::size_t>(got);
  }
  content.resize(have);
  return content;
}

absl::Status write_file(const std::string& path, const std::vector<std::string_view>& parts) {
  const std::string temporary = str_cat(path, ".part");
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  if (!file) return absl::PermissionDeniedError(str_cat(path, ": cannot write: ", std::strerror(errno)));
  for (const std::string_view part : parts) file.write(part.data(), static_cast<std::streamsize>(part.size()));
  file.close();
  if (!file) {
    const std::string why = std::strerror(errno);
    std::remove(temporary.c_str());
    return absl::ResourceExhaustedError(str_cat(path, ": cannot write: ", why));
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    const std::string why = std::strerror(errno);
    std::remove(temporary.c_str());
    return absl::PermissionDeniedError(str_cat(path, ": cannot write: ", why));
  }
  return absl::OkStatus();
}

}  // namespace hearth::runtime
