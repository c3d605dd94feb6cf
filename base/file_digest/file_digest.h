// FileDigest: the SHA-256 of a file's content, with the stamp of that content. Read in pieces: a file of any size needs
// little memory, and one that is cut meanwhile is an error, no signal. Thread-safe; remembers nothing
// (file_digest_cache.h does). Errors: NOT_FOUND, PERMISSION_DENIED, INVALID_ARGUMENT for anything but a regular file or
// for one over `max_bytes`, UNAVAILABLE when it changed while it was read; messages begin with the path. Example:
//   absl::StatusOr<FileDigest> file = file_digest("/usr/bin/c++");
//   if (file.ok()) use(file->digest, file->stamp);
#pragma once
#include <absl/status/statusor.h>

#include <cstdint>
#include <limits>
#include <string>

#include "base/file_stamp.h"
#include "base/sha256.h"

namespace hearth::files {

struct FileDigest {
  FileStamp stamp;  // taken before the content was read
  Digest digest{};
};

absl::StatusOr<FileDigest> file_digest(const std::string& path,
                                       std::uint64_t max_bytes = std::numeric_limits<std::uint64_t>::max());

// What the system's `error` says about a path, in the words and codes of all of this folder.
absl::Status file_error(const std::string& path, int error);

}  // namespace hearth::files
