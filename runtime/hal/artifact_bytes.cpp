#include "runtime/hal/artifact_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/text.h"

namespace hearth::runtime {
namespace {

constexpr off_t kMaxArtifactBytes = off_t{1} << 30;

absl::Status check_digest(std::string_view bytes, const std::string& digest, const std::string& shown) {
  const std::string actual = to_bytes(sha256(bytes));
  if (actual == digest) return absl::OkStatus();
  return absl::DataLossError(str_cat(shown, " has the digest ", to_hex(actual), " instead of ", to_hex(digest),
                                     "; run `hearth cache verify` and prepare again"));
}

absl::StatusOr<std::string> read_all(int fd, std::size_t size, const std::string& shown) {
  std::string bytes(size, '\0');
  for (std::size_t done = 0; done < size;) {
    const ssize_t count = pread(fd, bytes.data() + done, size - done, static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      return absl::DataLossError(str_cat(shown, ": reading failed: ", count < 0 ? std::strerror(errno) : "file ended"));
    }
    done += static_cast<std::size_t>(count);
  }
  return bytes;
}

absl::StatusOr<ArtifactBytes> read_from_file(const ArtifactSource& source) {
  std::string shown = str_cat("artifact ", source.path);
  UniqueFd fd(open(source.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd) {
    if (errno == ELOOP) return absl::PermissionDeniedError(str_cat(shown, " is a symbolic link; expected a file"));
    const std::string message = str_cat(shown, " cannot be opened: ", std::strerror(errno));
    return errno == ENOENT ? absl::NotFoundError(message) : absl::PermissionDeniedError(message);
  }
  struct stat info{};
  if (fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return absl::PermissionDeniedError(str_cat(shown, " is not a regular file"));
  }
  if (info.st_uid != geteuid() && info.st_uid != 0) {
    return absl::PermissionDeniedError(str_cat(shown, " belongs to user ", info.st_uid, "; expected user ", geteuid()));
  }
  if (info.st_mode & (S_IWGRP | S_IWOTH)) {
    return absl::PermissionDeniedError(str_cat(shown, " is writable by others"));
  }
  if (info.st_size <= 0 || info.st_size > kMaxArtifactBytes) {
    return absl::DataLossError(str_cat(shown, " has ", info.st_size, " bytes"));
  }
  HEARTH_ASSIGN_OR_RETURN(std::string bytes, read_all(fd.get(), static_cast<std::size_t>(info.st_size), shown));
  HEARTH_RETURN_IF_ERROR(check_digest(bytes, source.digest, shown));
  return ArtifactBytes{std::move(bytes), std::move(fd), std::move(shown)};
}

}  // namespace

absl::StatusOr<ArtifactBytes> read_artifact(const ArtifactSource& source) {
  if (!source.path.empty()) return read_from_file(source);
  std::string shown = str_cat("artifact ", to_hex(source.digest));
  HEARTH_RETURN_IF_ERROR(check_digest(source.bytes, source.digest, shown));
  return ArtifactBytes{source.bytes, UniqueFd(), std::move(shown)};
}

absl::StatusOr<std::vector<const ArtifactSource*>> sources_of(const Plan& plan,
                                                              const std::vector<ArtifactSource>& artifacts) {
  std::map<std::string_view, const ArtifactSource*> by_digest;
  for (const ArtifactSource& source : artifacts) by_digest[source.digest] = &source;
  std::vector<const ArtifactSource*> sources;
  for (const PlanKernel& kernel : plan.kernels) {
    if (kernel.artifact.empty())
      return absl::InvalidArgumentError(str_cat("kernel '", kernel.symbol,
                                                "': the plan names no artifact, and device '", plan.target.device(),
                                                "' runs kernels that have one"));
    const auto found = by_digest.find(kernel.artifact);
    if (found == by_digest.end()) {
      return absl::NotFoundError(str_cat("kernel '", kernel.symbol, "': artifact ", to_hex(kernel.artifact),
                                         " was not delivered with the plan"));
    }
    sources.push_back(found->second);
  }
  return sources;
}

}  // namespace hearth::runtime
