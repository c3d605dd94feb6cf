#include "tests/conformance/ops/guarded_block.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace hearth::conformance {

GuardedBlock::GuardedBlock(std::size_t size, std::size_t alignment) : size_(size), alignment_(alignment) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t used = (size + alignment - 1) / alignment * alignment;
  const std::size_t usable = (used / page + 1) * page;
  mapped_bytes_ = usable + page;
  void* mapped = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) std::abort();
  mapping_ = static_cast<std::uint8_t*>(mapped);
  if (mprotect(mapping_ + usable, page, PROT_NONE) != 0) std::abort();
  std::memset(mapping_, 0xCD, usable);
  data_ = mapping_ + usable - used;
}

GuardedBlock::GuardedBlock(GuardedBlock&& other) noexcept
    : mapping_(other.mapping_),
      mapped_bytes_(other.mapped_bytes_),
      data_(other.data_),
      size_(other.size_),
      alignment_(other.alignment_) {
  other.mapping_ = nullptr;
}

GuardedBlock::~GuardedBlock() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_bytes_);
}

bool GuardedBlock::front_is_untouched() const {
  return std::all_of(mapping_, data_, [](std::uint8_t byte) { return byte == 0xCD; });
}

}  // namespace hearth::conformance
