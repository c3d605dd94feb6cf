#include "base/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace hearth::runtime {
namespace {

constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

// Beyond this limit growing a file is a signal that ends the process.
bool is_within_limit(std::size_t size_bytes) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && (limit.rlim_cur == RLIM_INFINITY || size_bytes <= limit.rlim_cur);
}

}  // namespace

absl::StatusOr<UniqueFd> create_memory_file(const char* name, std::size_t size_bytes) {
  constexpr unsigned kNoExecSeal = 8;  // MFD_NOEXEC_SEAL, unknown to kernels before 6.3
  if (!is_within_limit(size_bytes)) {
    return absl::ResourceExhaustedError(
        str_cat("a memory file of ", size_bytes, " bytes is beyond the file size limit"));
  }
  UniqueFd fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | kNoExecSeal));
  if (!fd && errno == EINVAL) fd = UniqueFd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd || ::ftruncate(fd.get(), static_cast<off_t>(size_bytes)) != 0) {
    return absl::ResourceExhaustedError(str_cat("no memory file of ", size_bytes, " bytes: ", std::strerror(errno)));
  }
  return fd;
}

absl::Status seal_memory_file(int fd) {
  if (::fcntl(fd, F_ADD_SEALS, kSeals) == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(str_cat("a memory file cannot be sealed: ", std::strerror(errno)));
}

absl::Status check_sealed(int fd, std::size_t size_bytes) {
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0) return absl::FailedPreconditionError("the file is no memory file");
  if ((seals & kSeals) != kSeals) return absl::FailedPreconditionError("the memory file is not sealed");
  struct stat info{};
  if (::fstat(fd, &info) != 0 || static_cast<std::size_t>(info.st_size) != size_bytes) {
    return absl::FailedPreconditionError(
        str_cat("the memory file has ", info.st_size, " bytes; expected ", size_bytes));
  }
  return absl::OkStatus();
}

}  // namespace hearth::runtime
