// FileMemo: digests of files and names in folders, looked up again only when the system says they changed: a second
// question costs one stat. Device, inode, size and both times must be as before; what changed a moment ago is not
// remembered, since another change could leave the same times. Thread-safe. Errors: NOT_FOUND, PERMISSION_DENIED,
// INVALID_ARGUMENT for anything but a regular file or for one over 256 MiB; messages begin with the path. Example:
//   absl::StatusOr<Digest> digest = files.digest("/opt/rocm/include/hip/hip_runtime.h");
//   std::shared_ptr<const std::vector<std::string>> names = files.names_in("/opt/rocm/include");
#pragma once
#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/sha256.h"

namespace hearth::daemon {

// What tells whether a file is the same as before without reading it.
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size_bytes = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;  // of its inode: cannot be set by hand
  bool operator==(const FileStamp&) const = default;
};
// Follows links; nothing when there is no such file.
std::optional<FileStamp> stamp_of(const std::string& path);

// What some questions were answered from: while none of it changes, the answers are the same.
class Watched {
 public:
  void add(const std::string& path, const std::optional<FileStamp>& stamp);
  bool unchanged() const;
  // False when something changed so lately that a later change could look the same.
  bool settled() const { return settled_; }

 private:
  std::vector<std::pair<std::string, std::optional<FileStamp>>> files_;
  bool settled_ = true;
};

class FileMemo {
 public:
  // `watched`, when given, gets what the answer depends on.
  absl::StatusOr<Digest> digest(const std::string& path, Watched* watched = nullptr);
  // Sorted; null when there is no such folder or it cannot be read.
  std::shared_ptr<const std::vector<std::string>> names_in(const std::string& folder, Watched* watched = nullptr);

  static constexpr std::size_t kMaxFileBytes = 256u << 20;
  static constexpr std::size_t kMaxRemembered = 200'000;  // of each kind; then it starts over

 private:
  template <class Value>
  struct Known {
    FileStamp stamp;
    Value value;
  };
  std::mutex mutex_;
  std::unordered_map<std::string, Known<Digest>> digests_;
  std::unordered_map<std::string, Known<std::shared_ptr<const std::vector<std::string>>>> folders_;
};

}  // namespace hearth::daemon
