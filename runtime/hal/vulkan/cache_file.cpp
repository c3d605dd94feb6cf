#include "runtime/hal/vulkan/cache_file.h"

#include <sys/stat.h>

#include "base/file.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/user_cache.h"

namespace hearth::runtime {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{256} << 20;

}  // namespace

CacheFile::CacheFile(const VulkanDeviceInfo& info, std::string_view kind) {
  const std::string folder = user_cache_folder("vulkan");
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
