// Buffer: zeroed memory aligned to 64 bytes; from 2 MiB on it is aligned to 2 MiB and asks for transparent huge pages.
// Move-only owner; not thread-safe to move while used. Errors: RESOURCE_EXHAUSTED naming the size.
//
//   absl::StatusOr<Buffer> arena = Buffer::allocate(plan.arena_bytes, "the arena");
#pragma once
#include <cstddef>
#include <string_view>

#include "absl/status/statusor.h"

namespace hearth::runtime {

class Buffer {
 public:
  static absl::StatusOr<Buffer> allocate(std::size_t size_bytes, std::string_view what);
  Buffer() = default;
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  void* data() const { return data_; }  // never null after allocate(), even for size 0
  std::size_t size_bytes() const { return size_bytes_; }

 private:
  void release();
  void* data_ = nullptr;
  std::size_t size_bytes_ = 0;
  void* mapping_ = nullptr;  // null: from aligned_alloc
  std::size_t mapping_bytes_ = 0;
};

}  // namespace hearth::runtime
