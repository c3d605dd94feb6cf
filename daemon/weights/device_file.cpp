#include "daemon/weights/device_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

namespace hearth::daemon {
namespace {

// The major number of NVIDIA's devices in Linux's list (Documentation/admin-guide/devices.txt).
constexpr unsigned kNvidiaMajor = 195;

}  // namespace

absl::StatusOr<std::uint64_t> host_bytes_of_device_file(int file) {
  struct stat info{};
  struct statfs system{};
  if (::fstat(file, &info) != 0 || ::fstatfs(file, &system) != 0)
    return absl::FailedPreconditionError("the descriptor cannot be looked at");
  if (S_ISCHR(info.st_mode) && major(info.st_rdev) == kNvidiaMajor) return 0;
  if (system.f_type == DMA_BUF_MAGIC) return 0;
  if (::fcntl(file, F_GET_SEALS) >= 0) return static_cast<std::uint64_t>(info.st_size);
  return absl::FailedPreconditionError("the descriptor is of no GPU's memory");
}

}  // namespace hearth::daemon
