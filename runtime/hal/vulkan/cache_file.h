// Files that a process leaves for the next one on the same device: in `hearth/vulkan` of XDG_CACHE_HOME, else of
// ~/.cache, one a device, driver version and kind, with a checksum. Thread-safe; no errors: what cannot be read, was
// damaged or belongs to another user is not there, and what cannot be written is not kept.
//
//   const CacheFile file(info, "pipelines");
//   std::string data = file.read();
#pragma once
#include <string>
#include <string_view>

#include "runtime/hal/vulkan/vulkan_devices.h"

namespace hearth::runtime {

class CacheFile {
 public:
  CacheFile(const VulkanDeviceInfo& info, std::string_view kind);
  std::string read() const;
  bool write(std::string_view data) const;
  const std::string& path() const { return path_; }  // empty: there is no place for it

 private:
  std::string path_;
};

}  // namespace hearth::runtime
