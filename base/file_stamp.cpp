#include "base/file_stamp.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <thread>

namespace hearth::files {
namespace {

// The coarsest times of file systems in use.
constexpr std::int64_t kTimeStep_ns = 2'000'000'000;

std::int64_t ns_of(const timespec& time) { return time.tv_sec * 1'000'000'000LL + time.tv_nsec; }

std::int64_t now_of(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return ns_of(now);
}

}  // namespace

FileStamp stamp_of(const struct stat& info) {
  return {info.st_dev, info.st_ino, static_cast<std::uint64_t>(info.st_size), ns_of(info.st_mtim), ns_of(info.st_ctim)};
}

std::optional<FileStamp> stamp_of(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  return stamp_of(info);
}

std::optional<FileStamp> stamp_of_file(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  return stamp_of(info);
}

bool is_settled(const FileStamp& stamp) {
  return now_of(CLOCK_REALTIME) - std::max(stamp.modified_ns, stamp.changed_ns) > kTimeStep_ns;
}

std::int64_t file_clock_tick() {
  // Some file systems stamp with the precise clock, others with the coarse one, which lags: once that has passed, a
  // later write is later on both.
  const std::int64_t now = now_of(CLOCK_REALTIME);
  while (now_of(CLOCK_REALTIME_COARSE) <= now) std::this_thread::sleep_for(std::chrono::microseconds(500));
  return now;
}

}  // namespace hearth::files
