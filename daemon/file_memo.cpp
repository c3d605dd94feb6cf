#include "daemon/file_memo.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

namespace hearth::daemon {
namespace {

// The coarsest times of file systems in use.
constexpr std::int64_t kTimeStep_ns = 2'000'000'000;

std::int64_t ns_of(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

FileStamp stamp_of(const struct stat& info) {
  return {info.st_dev, info.st_ino, static_cast<std::uint64_t>(info.st_size), ns_of(info.st_mtim), ns_of(info.st_ctim)};
}

// `stamp` was taken before the content was read; whatever changed later has another.
bool may_remember(const FileStamp& stamp) {
  const std::int64_t now =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  return now - std::max(stamp.modified_ns, stamp.changed_ns) > kTimeStep_ns;
}

absl::Status problem(const std::string& path, int error) {
  const std::string message = absl::StrCat(path, ": ", std::strerror(error));
  if (error == ENOENT || error == ENOTDIR) return absl::NotFoundError(message);
  if (error == EACCES || error == EPERM) return absl::PermissionDeniedError(message);
  return absl::UnavailableError(message);
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  const int fd_;
};

absl::StatusOr<std::string> read_whole(int fd, const std::string& path, std::size_t size_bytes) {
  std::string bytes(size_bytes + 1, '\0');  // one more, to notice growth
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t step = ::read(fd, bytes.data() + done, bytes.size() - done);
    if (step < 0 && errno == EINTR) continue;
    if (step < 0) return problem(path, errno);
    if (step == 0) break;
    done += static_cast<std::size_t>(step);
  }
  if (done != size_bytes) return absl::UnavailableError(absl::StrCat(path, ": it changed while it was read"));
  bytes.resize(done);
  return bytes;
}

}  // namespace

std::optional<FileStamp> stamp_of(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  return stamp_of(info);
}

void Watched::add(const std::string& path, const std::optional<FileStamp>& stamp) {
  files_.emplace_back(path, stamp);
  settled_ = settled_ && (!stamp || may_remember(*stamp));
}

bool Watched::unchanged() const {
  return std::all_of(files_.begin(), files_.end(),
                     [](const auto& file) { return daemon::stamp_of(file.first) == file.second; });
}

absl::StatusOr<Digest> FileMemo::digest(const std::string& path, Watched* watched) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return problem(path, errno);
  // Should the file be another one below, this stamp is not its any more.
  if (watched != nullptr) watched->add(path, stamp_of(info));
  {
    std::lock_guard lock(mutex_);
    const auto known = digests_.find(path);
    if (known != digests_.end() && known->second.stamp == stamp_of(info)) return known->second.value;
  }
  if (!S_ISREG(info.st_mode)) return absl::InvalidArgumentError(absl::StrCat(path, ": is not a regular file"));
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0 || ::fstat(file.get(), &info) != 0) return problem(path, errno);
  if (!S_ISREG(info.st_mode)) return absl::InvalidArgumentError(absl::StrCat(path, ": is not a regular file"));
  const std::size_t size = static_cast<std::size_t>(info.st_size);
  if (size > kMaxFileBytes) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": has ", size, " bytes, more than ", kMaxFileBytes));
  }
  const absl::StatusOr<std::string> bytes = read_whole(file.get(), path, size);
  if (!bytes.ok()) return bytes.status();
  const Digest digest = sha256(*bytes);
  if (const FileStamp stamp = stamp_of(info); may_remember(stamp)) {
    std::lock_guard lock(mutex_);
    if (digests_.size() >= kMaxRemembered) digests_.clear();
    digests_[path] = {stamp, digest};
  }
  return digest;
}

std::shared_ptr<const std::vector<std::string>> FileMemo::names_in(const std::string& folder, Watched* watched) {
  const std::optional<FileStamp> stamp = daemon::stamp_of(folder);
  if (watched != nullptr) watched->add(folder, stamp);
  if (!stamp) return nullptr;
  {
    std::lock_guard lock(mutex_);
    const auto known = folders_.find(folder);
    if (known != folders_.end() && known->second.stamp == *stamp) return known->second.value;
  }
  std::error_code error;
  auto names = std::make_shared<std::vector<std::string>>();
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    names->push_back(it->path().filename().string());
  }
  if (error) return nullptr;
  std::sort(names->begin(), names->end());
  if (may_remember(*stamp)) {
    std::lock_guard lock(mutex_);
    if (folders_.size() >= kMaxRemembered) folders_.clear();
    folders_[folder] = {*stamp, names};
  }
  return names;
}

}  // namespace hearth::daemon
