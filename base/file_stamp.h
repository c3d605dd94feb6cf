// FileStamp: what tells a file from a changed one without reading it.
//
// Two stamps of a path are equal when nothing was written to it, or put in its place, in between. But file systems'
// time goes in steps: what changed a moment ago may change again and keep its stamp (is_settled). Plain values;
// thread-safe; no errors. Example:
//   if (stamp_of(path) != remembered) digest = file_digest(path);
#pragma once
#include <cstdint>
#include <optional>
#include <string>

struct stat;

namespace hearth::files {

struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size_bytes = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;  // of its inode: cannot be set by hand; also when an old file is renamed into place
  bool operator==(const FileStamp&) const = default;
};

// Follows links; nothing when there is no such file. Folders have stamps too.
std::optional<FileStamp> stamp_of(const std::string& path);
// Nothing also when it is no regular file.
std::optional<FileStamp> stamp_of_file(const std::string& path);
FileStamp stamp_of(const struct stat& info);

// False when a later change could leave the same stamp. `stamp` was taken before the content was read.
bool is_settled(const FileStamp& stamp);

// The time of the file system's clock; later writes get later times once it has moved on, for which this waits (4 ms).
std::int64_t file_clock_tick();

}  // namespace hearth::files
