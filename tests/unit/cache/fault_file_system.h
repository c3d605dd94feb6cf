// A FileSystem that fails on command: the n-th call of one operation, once or from then on. Counts every call.
#pragma once
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "kernels_cache/file_system.h"

namespace hearth::cache::testing {

enum class Call { kMakeDir, kCreate, kWrite, kSync, kClose, kRename, kSyncDir, kRemove, kRead, kIdentify };

class FaultFileSystem final : public FileSystem {
 public:
  // The `nth` call of `call` from now on (1 = the next) fails with `error`; with `forever`, all after it too.
  void fail(Call call, int error, int nth = 1, bool forever = false) {
    std::lock_guard lock(mutex_);
    faults_[call] = {error, nth, forever};
  }
  // A write that fails half way leaves half of its bytes.
  void heal() {
    std::lock_guard lock(mutex_);
    faults_.clear();
  }
  // Every `call` waits in the middle of the disk, as it were, until let_go().
  void hold(Call call) {
    std::lock_guard lock(mutex_);
    held_ = call;
  }
  void wait_until_one_is_held() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return num_held_ > 0; });
  }
  void let_go() {
    std::lock_guard lock(mutex_);
    held_.reset();
    changed_.notify_all();
  }
  int count(Call call) {
    std::lock_guard lock(mutex_);
    return counts_[call];
  }
  void set_magic(std::uint64_t magic) { magic_ = magic; }
  // For tests with very many puts; durability is not what they check.
  void skip_syncs() { skip_syncs_ = true; }

  absl::Status make_dir(const std::string& path, unsigned mode) override {
    if (int error = next(Call::kMakeDir)) return errno_status(error, "create directory " + path);
    return real_.make_dir(path, mode);
  }
  absl::StatusOr<int> create(const std::string& path, unsigned mode) override {
    if (int error = next(Call::kCreate)) return errno_status(error, "create " + path);
    return real_.create(path, mode);
  }
  absl::Status write_all(int fd, std::string_view bytes) override {
    if (int error = next(Call::kWrite)) {
      real_.write_all(fd, bytes.substr(0, bytes.size() / 2)).IgnoreError();
      return errno_status(error, "write");
    }
    return real_.write_all(fd, bytes);
  }
  absl::Status sync(int fd) override {
    if (int error = next(Call::kSync)) return errno_status(error, "fsync");
    return skip_syncs_ ? absl::OkStatus() : real_.sync(fd);
  }
  absl::Status close_file(int fd) override {
    absl::Status closed = real_.close_file(fd);  // a failing close still frees the descriptor
    if (int error = next(Call::kClose)) return errno_status(error, "close");
    return closed;
  }
  absl::Status rename_file(const std::string& from, const std::string& to) override {
    if (int error = next(Call::kRename)) return errno_status(error, "rename " + from);
    return real_.rename_file(from, to);
  }
  absl::Status sync_dir(const std::string& path) override {
    if (int error = next(Call::kSyncDir)) return errno_status(error, "fsync directory " + path);
    return skip_syncs_ ? absl::OkStatus() : real_.sync_dir(path);
  }
  absl::Status remove_file(const std::string& path) override {
    if (int error = next(Call::kRemove)) return errno_status(error, "remove " + path);
    return real_.remove_file(path);
  }
  absl::StatusOr<std::string> read_file(const std::string& path) override {
    if (int error = next(Call::kRead)) return errno_status(error, "read " + path);
    return real_.read_file(path);
  }
  absl::StatusOr<FileId> identify(const std::string& path) override {
    if (int error = next(Call::kIdentify)) return errno_status(error, path);
    return real_.identify(path);
  }
  absl::StatusOr<std::vector<std::string>> list_dir(const std::string& path) override { return real_.list_dir(path); }
  absl::StatusOr<std::uint64_t> type_magic(const std::string& path) override {
    return magic_ ? absl::StatusOr<std::uint64_t>(*magic_) : real_.type_magic(path);
  }

 private:
  struct Fault {
    int error;
    int remaining;
    bool forever;
  };

  int next(Call call) {
    std::unique_lock lock(mutex_);
    ++counts_[call];
    if (held_ == call) {
      ++num_held_;
      changed_.notify_all();
      changed_.wait(lock, [&] { return held_ != call; });
      --num_held_;
    }
    auto fault = faults_.find(call);
    if (fault == faults_.end() || --fault->second.remaining > 0) return 0;
    int error = fault->second.error;
    if (!fault->second.forever) faults_.erase(fault);
    return error;
  }

  FileSystem& real_ = posix_file_system();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Call> held_;
  int num_held_ = 0;
  std::map<Call, Fault> faults_;
  std::map<Call, int> counts_;
  std::optional<std::uint64_t> magic_;
  bool skip_syncs_ = false;
};

}  // namespace hearth::cache::testing
