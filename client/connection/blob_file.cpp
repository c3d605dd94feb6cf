#include "client/connection/blob_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/text.h"

namespace hearth::client {
namespace {

namespace fs = std::filesystem;

// What is in it is loaded into this process: nobody else may write there.
absl::StatusOr<std::string> private_folder() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  std::error_code ignored;
  const fs::path parent = runtime != nullptr && *runtime == '/' ? fs::path(runtime) : fs::temp_directory_path(ignored);
  const std::string folder = (parent / str_cat("hearth-blobs-", ::geteuid())).string();
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return absl::PermissionDeniedError(
        str_cat("cannot make the folder ", folder, " for blobs: ", std::strerror(errno)));
  }
  struct stat info{};
  if (::lstat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() ||
      (info.st_mode & 077) != 0) {
    return absl::PermissionDeniedError(
        str_cat(folder, " is not a folder of this user alone, so blobs in it cannot be trusted; remove it"));
  }
  return folder;
}

bool holds(const std::string& path, const std::string& digest) {
  const absl::StatusOr<std::string> bytes = runtime::read_file(path);
  return bytes.ok() && to_bytes(sha256(*bytes)) == digest;
}

}  // namespace

absl::StatusOr<BlobFile> open_blob(DaemonChannel& channel, const v1::ArtifactRef& artifact,
                                   DaemonChannel::Deadline deadline) {
  BlobFile file{artifact.path(), to_hex(artifact.digest())};
  if (!file.path.empty() && holds(file.path, artifact.digest())) return file;
  HEARTH_ASSIGN_OR_RETURN(const std::string folder, private_folder());
  file.path = str_cat(folder, "/", file.sha256_hex, ".so");
  if (holds(file.path, artifact.digest())) return file;
  HEARTH_ASSIGN_OR_RETURN(const std::string bytes, channel.fetch_artifact(artifact.digest(), deadline));
  if (to_bytes(sha256(bytes)) != artifact.digest()) {
    return absl::DataLossError(str_cat("the daemon sent other bytes than those of ", file.sha256_hex));
  }
  HEARTH_RETURN_IF_ERROR(runtime::write_file(file.path, {bytes}));
  ::chmod(file.path.c_str(), 0500);
  return file;
}

}  // namespace hearth::client
