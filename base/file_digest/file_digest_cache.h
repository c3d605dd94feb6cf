// FileDigestCache: digests of files and names in folders, looked up again only when the system says they changed: a
// second question costs one stat. Device, inode, size and both times must be as before; what changed a moment ago is
// not remembered, since another change could leave the same times. Thread-safe. Errors: NOT_FOUND, PERMISSION_DENIED,
// INVALID_ARGUMENT for anything but a regular file or for one over the limit (256 MiB); messages begin with the path.
// Files are remembered by device and inode: a path may be spelled in many ways.
// Example:
//   absl::StatusOr<Digest> digest = files.digest("/opt/rocm/include/hip/hip_runtime.h");
//   std::shared_ptr<const FolderNames> folder = files.names_in("/opt/rocm/include");
#pragma once
#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file_digest/file_digest.h"
#include "base/file_stamp.h"
#include "base/sha256.h"

namespace hearth::files {

// What some questions were answered from: while none of it changes, the answers are the same.
class FileSnapshot {
 public:
  void add(const std::string& path, const std::optional<FileStamp>& stamp);
  bool unchanged() const;
  // False when something changed so lately that a later change could look the same.
  bool settled() const { return settled_; }

 private:
  std::vector<std::pair<std::string, std::optional<FileStamp>>> files_;
  bool settled_ = true;
};

struct FolderNames {
  std::vector<std::string> names;  // sorted
  bool too_many = false;           // more than kMaxNames: then there are none here, and each is to be looked for
};

class FileDigestCache {
 public:
  explicit FileDigestCache(std::uint64_t max_file_bytes = kMaxFileBytes) : max_file_bytes_(max_file_bytes) {}

  // `watched`, when given, gets what the answer depends on.
  absl::StatusOr<Digest> digest(const std::string& path, FileSnapshot* watched = nullptr);
  // Null when there is no such folder or it cannot be read.
  std::shared_ptr<const FolderNames> names_in(const std::string& folder, FileSnapshot* watched = nullptr);

  static constexpr std::uint64_t kMaxFileBytes = 256u << 20;
  static constexpr std::size_t kMaxRemembered = 200'000;         // of each kind; then it starts over
  static constexpr std::size_t kMaxNames = 10'000;               // of a folder
  static constexpr std::size_t kMaxNamesRemembered = 1'000'000;  // of all folders, 60 MB

 private:
  template <class Value>
  struct Known {
    FileStamp stamp;
    Value value;
  };
  const std::uint64_t max_file_bytes_;
  std::mutex mutex_;
  using FileId = std::pair<std::uint64_t, std::uint64_t>;  // device, inode
  std::map<FileId, Known<Digest>> digests_;
  std::map<FileId, Known<std::shared_ptr<const FolderNames>>> folders_;
  std::size_t num_names_ = 0;  // of all folders_
};

}  // namespace hearth::files
