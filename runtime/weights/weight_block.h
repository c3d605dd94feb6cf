// WeightBlock: the memory of what a plan's instances share and nobody writes to after prepare: a buffer of this
// process or of a device, or a memory file that other processes map too. A memory file is writable until seal(), and by
// nobody afterwards; its address stays. From 2 MiB on it is on huge pages where the kernel has them, whatever its
// setting for shared memory. Move-only owner; not thread-safe to fill. Errors: RESOURCE_EXHAUSTED: there is no such
// memory, after seal() none any more; FAILED_PRECONDITION: a file that could change.
//
//   absl::StatusOr<WeightBlock> block = WeightBlock::create_shareable(bytes);   // fill block->data()
//   if (block->seal().ok()) send(block->fd());
#pragma once
#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/unique_fd.h"
#include "runtime/memory/buffer.h"

namespace hearth::runtime {

class WeightBlock {
 public:
  static absl::StatusOr<WeightBlock> allocate(std::size_t size_bytes);
  static WeightBlock of(Buffer buffer);
  static absl::StatusOr<WeightBlock> create_shareable(std::size_t size_bytes);
  // The block of a sealed memory file of this size.
  static absl::StatusOr<WeightBlock> map(UniqueFd file, std::size_t size_bytes);

  WeightBlock() = default;
  WeightBlock(WeightBlock&& other) noexcept { swap(other); }
  WeightBlock& operator=(WeightBlock&& other) noexcept {
    swap(other);
    return *this;
  }
  ~WeightBlock();

  // Seals what create_shareable() made. The memory is read-only from then on, also when the file could not be sealed.
  absl::Status seal();
  // Maps this sealed file of the same bytes in place of the block's own, which is given back to the system.
  absl::Status replace_file(UniqueFd file);

  void* data() const { return reserved_ ? data_ : buffer_.data(); }  // null where the host does not see it
  void* address() const { return reserved_ ? data_ : buffer_.address(); }
  const Buffer& buffer() const { return buffer_; }  // of allocate() and of()
  std::size_t size_bytes() const { return size_bytes_; }
  int fd() const { return file_.get(); }
  // As long as the block lives.
  void keep(std::shared_ptr<const void> kept) { kept_ = std::move(kept); }
  // The mapping stays.
  void close_fd() { file_.reset(); }

 private:
  absl::Status reserve();
  absl::Status map_file(int protection);
  void swap(WeightBlock& other) noexcept;

  std::size_t size_bytes_ = 0;
  Buffer buffer_;
  UniqueFd file_;
  std::shared_ptr<const void> kept_;
  void* reserved_ = nullptr;  // address space around data_
  std::size_t reserved_bytes_ = 0;
  void* data_ = nullptr;
};

}  // namespace hearth::runtime
