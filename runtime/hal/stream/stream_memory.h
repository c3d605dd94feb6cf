// Memory of a StreamContext's device: its own, which the host does not see and which is kept for the next of its size
// (HEARTH_DEVICE_CACHE_BYTES, else an eighth of the device's memory), and pinned memory of the host, which kernels reach
// at once. With HEARTH_DEVICE_MEMORY=managed the driver moves the device's between it and the host page by page, so that
// there may be more of it than the device has. Thread-safe. Errors: RESOURCE_EXHAUSTED naming what it was for and the size; those of StreamContext.
//
//   absl::StatusOr<Buffer> arena = memory->allocate(bytes, "the arena", MemoryUse::kDevice);
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/hal/device.h"
#include "runtime/hal/stream/free_blocks.h"
#include "runtime/hal/stream/stream_context.h"

namespace hearth::runtime {

class StreamMemory : public std::enable_shared_from_this<StreamMemory> {
 public:
  static absl::StatusOr<std::shared_ptr<StreamMemory>> make(std::shared_ptr<const StreamContext> context);
  ~StreamMemory();

  // What the environment asks for.
  static bool is_managed();
  absl::StatusOr<Buffer> allocate(std::size_t size_bytes, std::string_view what, MemoryUse use);
  absl::StatusOr<ShareableBuffer> allocate_shareable(std::size_t size_bytes, std::string_view what);
  absl::StatusOr<Buffer> import(int file, std::size_t size_bytes, std::string_view what);
  absl::Status write(const Buffer& to, std::size_t offset, const void* from, std::size_t size_bytes);
  absl::Status read(const Buffer& from, std::size_t offset, void* to, std::size_t size_bytes);
  // INVALID_ARGUMENT where they are no part of one block of the device's memory, whoever allocated it.
  absl::Status check_address(const void* address, std::size_t size_bytes) const;

 private:
  struct Block;
  explicit StreamMemory(std::shared_ptr<const StreamContext> context);
  absl::Status check_size(std::size_t size_bytes, std::string_view what) const;
  absl::Status allocate_own(std::size_t size_bytes, Block& block);
  absl::Status allocate_pinned(std::size_t size_bytes, Block& block);
  void give_back(const Block& block);
  void free_all(const std::vector<void*>& blocks) const;
  void* take_free(std::size_t size_bytes);
  // Queues with `queue(stream)`, an entry point's result, and waits; beside other threads that do, each on a stream of its
  // own.
  template <typename Queue>
  absl::Status run(Entry entry, const Queue& queue);
  absl::StatusOr<Stream> take_stream();

  const std::shared_ptr<const StreamContext> context_;
  const bool is_managed_;
  std::mutex mutex_;  // of all below; never held where a driver may wait
  FreeBlocks free_blocks_;
  std::vector<Stream> idle_streams_;
};

}  // namespace hearth::runtime
