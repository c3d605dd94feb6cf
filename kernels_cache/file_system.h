// FileSystem: the seam between the cache and the disk, so that a failing write, fsync or rename can be injected.
//
// Ownership: callers own descriptors from create() and give them to close_file() exactly once.
// Threads: implementations are thread-safe. Errors (errno_status): ENOSPC, EDQUOT → RESOURCE_EXHAUSTED;
// EACCES, EPERM, EROFS → PERMISSION_DENIED; ENOENT → NOT_FOUND; EIO and others → UNAVAILABLE. Example:
//   FileSystem& fs = posix_file_system();
//   absl::StatusOr<int> fd = fs.create(path, 0400);
//   if (fd.ok()) status = fs.write_all(*fd, bytes);
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hearth::cache {

// Changes whenever a file's content may have changed (ctime cannot be set back by a program).
struct FileId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size_bytes = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
  bool operator==(const FileId&) const = default;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Ok when it is already a directory.
  virtual absl::Status make_dir(const std::string& path, unsigned mode) = 0;
  // A new file for writing; fails if the name exists (O_EXCL, O_NOFOLLOW).
  virtual absl::StatusOr<int> create(const std::string& path, unsigned mode) = 0;
  virtual absl::Status write_all(int fd, std::string_view bytes) = 0;
  virtual absl::Status sync(int fd) = 0;
  virtual absl::Status close_file(int fd) = 0;
  virtual absl::Status rename_file(const std::string& from, const std::string& to) = 0;
  virtual absl::Status sync_dir(const std::string& path) = 0;
  virtual absl::Status remove_file(const std::string& path) = 0;
  // A regular file's bytes; symbolic links are refused.
  virtual absl::StatusOr<std::string> read_file(const std::string& path) = 0;
  virtual absl::StatusOr<FileId> identify(const std::string& path) = 0;
  // Sorted names without "." and "..".
  virtual absl::StatusOr<std::vector<std::string>> list_dir(const std::string& path) = 0;
  // statfs f_type.
  virtual absl::StatusOr<std::uint64_t> type_magic(const std::string& path) = 0;
};

// The process's real file system; lives for ever.
FileSystem& posix_file_system();

// A status of errno `error`; the message is "`what`: strerror".
absl::Status errno_status(int error, std::string_view what);

// "nfs", "cifs", … for a network file system's statfs magic, else empty.
std::string_view network_file_system_name(std::uint64_t magic);

}  // namespace hearth::cache
