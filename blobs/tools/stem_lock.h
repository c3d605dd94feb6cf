// StemLock: of all processes that want one blob, one works and the others wait for it and hear how it went.
//
// A lock on <folder>/<stem>.lock, which exists only while somebody works or waits. Who works may leave words in it for
// those who wait already; later comers get a file of their own. A process that dies frees its lock. Use from one
// thread; two in one process exclude each other too. Errors: PermissionDenied when the file cannot be made,
// DeadlineExceeded when who works does not end. Example:
//   auto lock = StemLock::take(folder, stem, std::chrono::minutes(15));
//   if (!lock->words().empty()) return failure_of(lock->words());  // of the one we waited for
#pragma once
#include <absl/status/statusor.h>

#include <chrono>
#include <string>
#include <utility>

namespace hearth::blobs {

class StemLock {
 public:
  static absl::StatusOr<StemLock> take(const std::string& folder, const std::string& stem,
                                       std::chrono::milliseconds longest_wait);
  StemLock(StemLock&& other) noexcept
      : path_(std::move(other.path_)),
        fd_(std::exchange(other.fd_, -1)),
        words_(std::move(other.words_)),
        ours_(other.ours_) {}
  StemLock& operator=(StemLock&&) = delete;
  ~StemLock();

  // False: somebody else held it while we waited, and has finished; look what they made, then take it again.
  bool ours() const { return ours_; }
  // What they left; empty unless ours() is false.
  const std::string& words() const { return words_; }
  void leave(const std::string& words);

 private:
  StemLock(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  std::string path_;
  int fd_;
  std::string words_;
  bool ours_ = false;
};

}  // namespace hearth::blobs
