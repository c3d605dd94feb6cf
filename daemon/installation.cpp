#include "daemon/installation.h"

#include <absl/strings/str_cat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <thread>

namespace hearth::daemon {
namespace {

constexpr std::chrono::milliseconds kLookEvery{50};

}  // namespace

absl::StatusOr<std::unique_ptr<Installation>> Installation::find(const std::string& command) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return absl::NotFoundError(absl::StrCat("/proc/self/exe cannot be read: ", error.message()));
  // argv[0] may be anything: it is believed when it names the file that runs.
  const bool is_self = !command.empty() && command[0] == '/' && identify(command) == identify(self.string());
  return std::unique_ptr<Installation>(new Installation(is_self ? command : self.string()));
}

Installation::FileId Installation::identify(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || ::access(path.c_str(), X_OK) != 0) return {};
  return {info.st_dev, info.st_ino, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
}

bool Installation::is_replaced() {
  const FileId now = identify(path_);
  std::lock_guard lock(mutex_);
  const bool is_stable = now == last_;
  last_ = now;
  return is_stable && now.size >= 0 && original_.size >= 0 && !(now == original_);
}

bool Installation::wait_until_replaced(std::chrono::milliseconds limit) {
  const auto give_up = std::chrono::steady_clock::now() + limit;
  while (!is_replaced()) {
    if (std::chrono::steady_clock::now() >= give_up) return false;
    std::this_thread::sleep_for(kLookEvery);
  }
  return true;
}

}  // namespace hearth::daemon
