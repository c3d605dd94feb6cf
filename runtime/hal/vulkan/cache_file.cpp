#include "runtime/hal/vulkan/cache_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/file.h"
#include "base/sha256.h"
#include "base/text.h"

namespace hearth::runtime {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{256} << 20;

// Made where it is missing; empty where there is no place for it. A folder of another user is none.
std::string cache_folder() {
  const char* const cache = ::secure_getenv("XDG_CACHE_HOME");
  const char* const home = ::secure_getenv("HOME");
  std::string folder;
  if (cache != nullptr && cache[0] == '/') {
    folder = cache;
  } else if (home != nullptr && home[0] == '/') {
    folder = str_cat(home, "/.cache");
  } else {
    return "";
  }
  for (const char* name : {"", "/hearth", "/vulkan"}) {
    folder += name;
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return "";
  }
  struct stat info{};
  const bool is_ours = ::lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() &&
                       (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  return is_ours ? folder : "";
}

}  // namespace

CacheFile::CacheFile(const VulkanDeviceInfo& info, std::string_view kind) {
  const std::string folder = cache_folder();
  if (folder.empty()) return;
  const std::string key = to_hex(sha256(str_cat(info.uuid, info.driver, "\n", info.driver_version, "\n", info.name)));
  path_ = str_cat(folder, "/", to_hex(info.uuid), "-", key.substr(0, 16), ".", kind);
}

std::string CacheFile::read() const {
  struct stat info{};
  if (path_.empty() || ::stat(path_.c_str(), &info) != 0 || info.st_size > static_cast<off_t>(kMaxBytes)) return "";
  const absl::StatusOr<std::string> file = read_file(path_);
  if (!file.ok() || file->size() < sizeof(Digest)) return "";
  std::string data = file->substr(sizeof(Digest));
  return to_bytes(sha256(data)) == file->substr(0, sizeof(Digest)) ? data : "";
}

bool CacheFile::write(std::string_view data) const {
  if (path_.empty() || data.size() > kMaxBytes - sizeof(Digest)) return false;
  return write_file(path_, {to_bytes(sha256(data)), data}).ok();
}

}  // namespace hearth::runtime
