#include "runtime/memory/buffer.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "runtime/memory/huge_page.h"

namespace hearth::runtime {
namespace {

constexpr std::size_t kAlignment = 64;

}  // namespace

absl::StatusOr<Buffer> Buffer::allocate(std::size_t size_bytes, std::string_view what) {
  auto exhausted = [&] {
    return absl::ResourceExhaustedError(str_cat("cannot allocate ", size_bytes, " bytes for ", what));
  };
  Buffer buffer;
  buffer.size_bytes_ = size_bytes;
  if (size_bytes < kHugePage) {
    const std::size_t rounded = (size_bytes / kAlignment + 1) * kAlignment;
    buffer.data_ = std::aligned_alloc(kAlignment, rounded);
    if (!buffer.data_) return exhausted();
    std::memset(buffer.data_, 0, rounded);
    buffer.address_ = buffer.data_;
    return buffer;
  }
  if (size_bytes > SIZE_MAX - 2 * kHugePage) return exhausted();
  buffer.mapping_bytes_ = size_bytes + kHugePage;
  void* mapping = mmap(nullptr, buffer.mapping_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return exhausted();
  buffer.mapping_ = mapping;
  const auto address = reinterpret_cast<std::uintptr_t>(mapping);
  buffer.data_ = reinterpret_cast<void*>((address + kHugePage - 1) / kHugePage * kHugePage);
  buffer.address_ = buffer.data_;
  madvise(buffer.data_, size_bytes, MADV_HUGEPAGE);  // a wish: without huge pages it is only slower
  return buffer;
}

Buffer::Buffer(Buffer&& other) noexcept { *this = std::move(other); }

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this == &other) return *this;
  release();
  data_ = std::exchange(other.data_, nullptr);
  address_ = std::exchange(other.address_, nullptr);
  owner_ = std::move(other.owner_);
  size_bytes_ = std::exchange(other.size_bytes_, 0);
  mapping_ = std::exchange(other.mapping_, nullptr);
  mapping_bytes_ = std::exchange(other.mapping_bytes_, 0);
  return *this;
}

Buffer::~Buffer() { release(); }

void Buffer::release() {
  if (mapping_) {
    munmap(mapping_, mapping_bytes_);
  } else if (!owner_) {
    std::free(data_);
  }
  owner_ = nullptr;
  data_ = address_ = mapping_ = nullptr;
}

}  // namespace hearth::runtime
