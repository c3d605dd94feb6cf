#include "runtime/hal/device.h"

#include <cstring>

namespace hearth::runtime {

absl::Status Device::write(const Buffer& to, std::size_t offset, const void* from, std::size_t size_bytes) const {
  if (size_bytes > 0) std::memcpy(static_cast<char*>(to.data()) + offset, from, size_bytes);
  return absl::OkStatus();
}

absl::Status Device::read(const Buffer& from, std::size_t offset, void* to, std::size_t size_bytes) const {
  if (size_bytes > 0) std::memcpy(to, static_cast<const char*>(from.data()) + offset, size_bytes);
  return absl::OkStatus();
}

}  // namespace hearth::runtime
