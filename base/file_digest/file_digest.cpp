#include "base/file_digest/file_digest.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <nettle/sha2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/status_macros.h"
#include "base/unique_fd.h"

namespace hearth::files {
namespace {

constexpr std::uint64_t kPieceBytes = 256 << 10;

absl::StatusOr<Digest> digest_of_content(int fd, const std::string& path, std::uint64_t size_bytes) {
  sha256_ctx context;
  sha256_init(&context);
  // One more than the file has, to notice growth.
  std::vector<std::uint8_t> piece(std::min(size_bytes + 1, kPieceBytes));
  std::uint64_t done = 0;
  while (done <= size_bytes) {
    const ssize_t step = ::read(fd, piece.data(), piece.size());
    if (step < 0 && errno == EINTR) continue;
    if (step < 0) return file_error(path, errno);
    if (step == 0) break;
    sha256_update(&context, static_cast<std::size_t>(step), piece.data());
    done += static_cast<std::uint64_t>(step);
  }
  if (done != size_bytes) return absl::UnavailableError(absl::StrCat(path, ": it changed while it was read"));
  Digest digest{};
  sha256_digest(&context, digest.size(), digest.data());
  return digest;
}

}  // namespace

absl::Status file_error(const std::string& path, int error) {
  const std::string message = absl::StrCat(path, ": ", std::strerror(error));
  if (error == ENOENT || error == ENOTDIR) return absl::NotFoundError(message);
  if (error == EACCES || error == EPERM) return absl::PermissionDeniedError(message);
  return absl::UnavailableError(message);
}

absl::StatusOr<FileDigest> file_digest(const std::string& path, std::uint64_t max_bytes) {
  struct stat info{};
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file || ::fstat(file.get(), &info) != 0) return file_error(path, errno);
  if (!S_ISREG(info.st_mode)) return absl::InvalidArgumentError(absl::StrCat(path, ": is not a regular file"));
  const FileStamp stamp = stamp_of(info);
  if (stamp.size_bytes > max_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": has ", stamp.size_bytes, " bytes, more than ", max_bytes));
  }
  HEARTH_ASSIGN_OR_RETURN(const Digest digest, digest_of_content(file.get(), path, stamp.size_bytes));
  return FileDigest{stamp, digest};
}

}  // namespace hearth::files
