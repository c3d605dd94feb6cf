#include "runtime/hal/device.h"

#include <cstring>

#include "base/text.h"

namespace hearth::runtime {

absl::Status Device::write(const Buffer& to, std::size_t offset, const void* from, std::size_t size_bytes) const {
  if (size_bytes > 0) std::memcpy(static_cast<char*>(to.data()) + offset, from, size_bytes);
  return absl::OkStatus();
}

absl::Status Device::read(const Buffer& from, std::size_t offset, void* to, std::size_t size_bytes) const {
  if (size_bytes > 0) std::memcpy(to, static_cast<const char*>(from.data()) + offset, size_bytes);
  return absl::OkStatus();
}

absl::Status Device::check_memory(const void*, std::size_t) const {
  return absl::UnimplementedError(
      str_cat("memory of device ", name(), " has no addresses that are known outside of it; bind memory of the host"));
}

absl::StatusOr<ShareableBuffer> Device::allocate_shareable(std::size_t, std::string_view what) const {
  return absl::UnimplementedError(str_cat("device ", name(), " has no memory of its own to share for ", what));
}

absl::StatusOr<Buffer> Device::import_memory(int, std::size_t, std::string_view what) const {
  return absl::UnimplementedError(str_cat("device ", name(), " has no memory of its own to share for ", what));
}

absl::Status Program::queue_on(void*) {
  return absl::UnimplementedError("the plan's device runs nothing on streams of others; call execute()");
}

}  // namespace hearth::runtime
