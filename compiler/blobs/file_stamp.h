// FileStamp: what tells a file from a changed one without reading it; and the digest when it must be read.
//
// Two stamps of a path are equal when nothing was written to it in between (size, times and inode). Plain values;
// thread-safe. Errors: those of the system, the message begins with the path. Example:
//   if (stamp_of(path) != remembered) digest = digest_of_file(path);
#pragma once
#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>

namespace hearth::blobs {

struct FileStamp {
  std::uint64_t size_bytes = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;  // also changes when an old file is renamed into place
  std::uint64_t inode = 0;

  bool operator==(const FileStamp&) const = default;
};

// Nothing when there is no such file, or it is no regular one.
std::optional<FileStamp> stamp_of(const std::string& path);

// SHA-256 in hexadecimal, read through a mapping: nothing of the file's size is allocated.
absl::StatusOr<std::string> digest_of_file(const std::string& path);

}  // namespace hearth::blobs
