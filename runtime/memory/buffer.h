// Buffer: memory of the host or of a device, aligned to 64 bytes. Of the host it is zeroed; from 2 MiB on it is aligned
// to 2 MiB and asks for transparent huge pages. Move-only owner; not thread-safe to move while used. Errors:
// RESOURCE_EXHAUSTED naming the size.
//
//   absl::StatusOr<Buffer> mine = Buffer::allocate(bytes, "a table");                          // of the host
//   absl::StatusOr<Buffer> arena = device.allocate(bytes, "the arena", MemoryUse::kDevice);   // hal/device.h
#pragma once
#include <cstddef>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"

namespace hearth::runtime {

class Buffer {
 public:
  static absl::StatusOr<Buffer> allocate(std::size_t size_bytes, std::string_view what);
  // A device's: `data` null where the host does not see it; `owner` frees it.
  Buffer(void* data, void* address, std::size_t size_bytes, std::shared_ptr<const void> owner)
      : data_(data), address_(address), size_bytes_(size_bytes), owner_(std::move(owner)) {}
  Buffer() = default;
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  // Where the host reads and writes it. Of host memory never null after allocate(), even for size 0.
  void* data() const { return data_; }
  // What kernels are given.
  void* address() const { return address_; }
  std::size_t size_bytes() const { return size_bytes_; }
  // What keeps a device's memory, for that device.
  const void* owner() const { return owner_.get(); }

 private:
  void release();
  void* data_ = nullptr;
  void* address_ = nullptr;
  std::size_t size_bytes_ = 0;
  std::shared_ptr<const void> owner_;  // of a device's memory; null: the host's
  void* mapping_ = nullptr;            // null: from aligned_alloc
  std::size_t mapping_bytes_ = 0;
};

}  // namespace hearth::runtime
