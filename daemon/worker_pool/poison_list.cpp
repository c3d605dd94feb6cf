#include "daemon/worker_pool/poison_list.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

namespace hearth::daemon {
namespace {

constexpr std::size_t kMaxBundles = 64;
constexpr std::size_t kMaxBundleBytes = 64u << 20;
constexpr char kBundleSuffix[] = ".worker_request";

// Removes the oldest bundles until one more fits under kMaxBundles.
void make_room(const std::string& folder) {
  std::error_code ignored;
  std::vector<std::pair<std::filesystem::file_time_type, std::filesystem::path>> bundles;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (entry.path().extension() == kBundleSuffix) bundles.emplace_back(entry.last_write_time(ignored), entry.path());
  }
  std::sort(bundles.begin(), bundles.end());
  for (std::size_t i = 0; i + kMaxBundles <= bundles.size(); ++i) std::filesystem::remove(bundles[i].second, ignored);
}

}  // namespace

absl::Status PoisonList::check(const Digest& digest, uid_t user, Clock::time_point now) {
  std::lock_guard lock(mutex_);
  absl::Status own = check(key_of(digest, user), user, now);
  return !own.ok() || is_operator(user) ? own : check(key_of(digest, 0), user, now);
}

absl::Status PoisonList::check(const Key& key, uid_t user, Clock::time_point now) {
  auto it = records_.find(key);
  if (it == records_.end() || it->second.deaths < kDeathsToRefuse) return absl::OkStatus();
  if (now >= it->second.refused_until) {
    records_.erase(it);
    return absl::OkStatus();
  }
  const auto left = std::chrono::ceil<std::chrono::seconds>(it->second.refused_until - now).count();
  const Refusal& refusal = it->second.refusal;
  return absl::FailedPreconditionError(
      absl::StrCat(refusal.sentence, is_operator(user) ? "; " + refusal.bundle : "", "; ", left, " s left"));
}

std::optional<PoisonList::Refusal> PoisonList::record_death(const Digest& digest, uid_t user, const std::string& what,
                                                            std::string_view request, Clock::time_point now) {
  std::lock_guard lock(mutex_);
  forget_old(now);
  Record& record = records_[key_of(digest, user)];
  record.last_death = now;
  if (++record.deaths < kDeathsToRefuse) return std::nullopt;
  record.refused_until = now + refuse_for_;
  record.refusal = {absl::StrCat(what, " killed ", record.deaths, " compiler workers and is refused for ",
                                 refuse_for_.count() / 1000, " s"),
                    write_bundle(digest, request)};
  return record.refusal;
}

void PoisonList::record_success(const Digest& digest, uid_t user) {
  std::lock_guard lock(mutex_);
  records_.erase(key_of(digest, user));
}

void PoisonList::forget_old(Clock::time_point now) {
  for (auto it = records_.begin(); it != records_.end();) {
    it = now - it->second.last_death > refuse_for_ ? records_.erase(it) : std::next(it);
  }
}

std::string PoisonList::write_bundle(const Digest& digest, std::string_view request) const {
  const std::string path = absl::StrCat(repro_folder_, "/", to_hex(digest).substr(0, 16), kBundleSuffix);
  if (request.size() > kMaxBundleBytes) return "its repro bundle would be too large";
  if (::mkdir(repro_folder_.c_str(), 0700) != 0 && errno != EEXIST) {
    return absl::StrCat("no repro bundle: cannot create '", repro_folder_, "': ", std::strerror(errno));
  }
  make_room(repro_folder_);
  const std::string temp = path + ".tmp";
  const int fd = ::open(temp.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  bool written = fd >= 0;
  for (std::size_t done = 0; written && done < request.size();) {
    const ssize_t step = ::write(fd, request.data() + done, request.size() - done);
    if (step < 0 && errno == EINTR) continue;
    written = step > 0;
    if (written) done += static_cast<std::size_t>(step);
  }
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (!written || ::rename(temp.c_str(), path.c_str()) != 0) {
    ::unlink(temp.c_str());
    return absl::StrCat("no repro bundle: cannot write '", path, "': ", std::strerror(written ? errno : error));
  }
  return absl::StrCat("repro bundle: ", path);
}

}  // namespace hearth::daemon
