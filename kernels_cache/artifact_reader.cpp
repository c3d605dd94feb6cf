#include "kernels_cache/artifact_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kernels_cache/kernels_cache_impl.h"

namespace hearth::cache {

ArtifactReader::~ArtifactReader() {
  if (fd_ >= 0) ::close(fd_);
}

absl::StatusOr<std::string> ArtifactReader::read(std::uint64_t offset, std::uint64_t max_bytes) const {
  std::string bytes(std::min(max_bytes, size_bytes_ - std::min(offset, size_bytes_)), '\0');
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t got = ::pread(fd_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return absl::DataLossError("an artifact's file was cut short while it was read");
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

absl::StatusOr<ArtifactReader> KernelsCache::open_artifact(const Digest& digest) {
  return impl_->open_artifact(digest);
}

absl::StatusOr<ArtifactReader> KernelsCache::Impl::open_artifact(const Digest& digest) {
  const absl::Status missing = absl::NotFoundError(absl::StrCat("artifact ", to_hex(digest), " is not in the cache"));
  std::optional<Pin> pin = PinTable::pin(pins_, {&digest, 1});
  if (!pin) return missing;
  HEARTH_RETURN_IF_ERROR(check(digest));
  const int fd = ::open(cas_->path_of(digest).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  const absl::StatusOr<FileId> id = cas_->identify(digest);
  if (fd < 0 || !id.ok()) {
    if (fd >= 0) ::close(fd);
    return missing;
  }
  ArtifactReader reader(fd, id->size_bytes, *std::move(pin));
  // What was opened is what was checked: the file has not changed since.
  if (!known_sound(digest)) return absl::DataLossError(absl::StrCat("artifact ", to_hex(digest), " is being changed"));
  return reader;
}

}  // namespace hearth::cache
