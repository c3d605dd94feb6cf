#include "runtime/weights/weight_block.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/memory_file.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "runtime/memory/huge_page.h"

namespace hearth::runtime {
namespace {

constexpr int kCollapse = 25;  // MADV_COLLAPSE, since 6.1

// Shared memory gets huge pages by a setting that is off by default, but collapsing what is there into one is this
// process's to ask for. One small page of each is enough to collapse; the others are zeros and need not be made first.
void ask_for_huge_pages(char* data, std::size_t size_bytes) {
  const std::size_t whole = size_bytes / kHugePage * kHugePage;
  for (std::size_t at = 0; at < whole; at += kHugePage) data[at] = 0;
  if (whole > 0) ::madvise(data, whole, kCollapse);
}

}  // namespace

absl::StatusOr<WeightBlock> WeightBlock::allocate(std::size_t size_bytes) {
  HEARTH_ASSIGN_OR_RETURN(Buffer buffer, Buffer::allocate(size_bytes, "the persistent block"));
  return of(std::move(buffer));
}

WeightBlock WeightBlock::of(Buffer buffer) {
  WeightBlock block;
  block.size_bytes_ = buffer.size_bytes();
  block.buffer_ = std::move(buffer);
  return block;
}

absl::StatusOr<WeightBlock> WeightBlock::create_shareable(std::size_t size_bytes) {
  HEARTH_ASSIGN_OR_RETURN(UniqueFd file, create_memory_file("hearth-weights", size_bytes));
  WeightBlock block;
  block.size_bytes_ = size_bytes;
  block.file_ = std::move(file);
  HEARTH_RETURN_IF_ERROR(block.reserve());
  HEARTH_RETURN_IF_ERROR(block.map_file(PROT_READ | PROT_WRITE));
  // A child that is forked meanwhile would keep it writable, and so from being sealed.
  ::madvise(block.data_, size_bytes, MADV_DONTFORK);
  ask_for_huge_pages(static_cast<char*>(block.data_), size_bytes);
  return block;
}

absl::StatusOr<WeightBlock> WeightBlock::map(UniqueFd file, std::size_t size_bytes) {
  HEARTH_RETURN_IF_ERROR(check_sealed(file.get(), size_bytes));
  WeightBlock block;
  block.size_bytes_ = size_bytes;
  block.file_ = std::move(file);
  HEARTH_RETURN_IF_ERROR(block.reserve());
  HEARTH_RETURN_IF_ERROR(block.map_file(PROT_READ));
  return block;
}

WeightBlock::~WeightBlock() {
  if (reserved_) ::munmap(reserved_, reserved_bytes_);
}

absl::Status WeightBlock::seal() {
  // Writable mappings keep a file from being sealed. The addresses stay taken, so that no other thread is given them.
  const int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (::mmap(data_, size_bytes_, PROT_NONE, kind, -1, 0) == MAP_FAILED) {
    return absl::ResourceExhaustedError(str_cat("cannot unmap weights: ", std::strerror(errno)));
  }
  const absl::Status sealed = seal_memory_file(file_.get());
  HEARTH_RETURN_IF_ERROR(map_file(PROT_READ));
  return sealed;
}

absl::Status WeightBlock::replace_file(UniqueFd file) {
  HEARTH_RETURN_IF_ERROR(check_sealed(file.get(), size_bytes_));
  std::swap(file_, file);
  absl::Status mapped = map_file(PROT_READ);
  if (!mapped.ok()) std::swap(file_, file);
  return mapped;
}

absl::Status WeightBlock::reserve() {
  reserved_bytes_ = size_bytes_ + kHugePage;
  void* reserved = ::mmap(nullptr, reserved_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) {
    return absl::ResourceExhaustedError(str_cat("no address space for ", size_bytes_, " bytes of weights"));
  }
  reserved_ = reserved;
  const auto address = reinterpret_cast<std::uintptr_t>(reserved);
  data_ = reinterpret_cast<void*>((address + kHugePage - 1) / kHugePage * kHugePage);
  return absl::OkStatus();
}

absl::Status WeightBlock::map_file(int protection) {
  void* mapped = ::mmap(data_, size_bytes_, protection, MAP_SHARED | MAP_FIXED, file_.get(), 0);
  // Before 6.7 a sealed file cannot be mapped shared, not even to be read. Private pages that nobody writes to are the
  // file's own, too.
  if (mapped == MAP_FAILED && errno == EPERM && protection == PROT_READ) {
    mapped = ::mmap(data_, size_bytes_, protection, MAP_PRIVATE | MAP_FIXED, file_.get(), 0);
  }
  if (mapped != MAP_FAILED) return absl::OkStatus();
  return absl::ResourceExhaustedError(str_cat("cannot map ", size_bytes_, " bytes of weights: ", std::strerror(errno)));
}

void WeightBlock::swap(WeightBlock& other) noexcept {
  std::swap(size_bytes_, other.size_bytes_);
  std::swap(buffer_, other.buffer_);
  std::swap(file_, other.file_);
  std::swap(reserved_, other.reserved_);
  std::swap(reserved_bytes_, other.reserved_bytes_);
  std::swap(data_, other.data_);
}

}  // namespace hearth::runtime
