// Installation: notices that the daemon's own program was replaced on disk, as an upgrade does.
//
// A running daemon of the old build cannot use workers of the new one, so it should end and let its successor, started
// from the same path, take over. Thread-safe. Errors: NOT_FOUND when it cannot tell where its program lies. Example:
//   auto installation = Installation::find(argv0);
//   if (installation->is_replaced()) ask_to_stop("it was replaced on disk");
#pragma once
#include <absl/status/statusor.h>
#include <sys/stat.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>

namespace hearth::daemon {

class Installation {
 public:
  // `command` is argv[0]: an absolute path is watched as it was given, links included, since an upgrade may replace a
  // link; else the program's own file is.
  static absl::StatusOr<std::unique_ptr<Installation>> find(const std::string& command);
  // True when another file is at the program's path now and it has not changed since the last call, so that nothing
  // half-written is started. Call it now and then.
  bool is_replaced();
  // Waits up to `limit` for is_replaced(): an upgrade writes the programs one after another.
  bool wait_until_replaced(std::chrono::milliseconds limit);

 private:
  struct FileId {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = -1;  // -1: no program there
    long modified_s = 0, modified_ns = 0;
    bool operator==(const FileId&) const = default;
  };
  static FileId identify(const std::string& path);
  explicit Installation(const std::string& path) : path_(path), original_(identify(path)), last_(original_) {}

  const std::string path_;
  const FileId original_;
  std::mutex mutex_;
  FileId last_;
};

}  // namespace hearth::daemon
